import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import { z } from 'zod';

/**
 * A count in Redis for a window of time. An answer that is no count of this window is a fault of Redis like any other: the library would take
 * `NaN` for a count that is never reached.
 */
export class RedisCounter extends RateLimiterRedis {
  /** Overrides the library's reading of the script's answer. @throws ZodError */
  _getRateLimiterRes(_: string, added: number, answer: unknown): RateLimiterRes {
    const answered = z.tuple([
      z.int().min(added),
      z
        .int()
        .min(1)
        .max(this.duration * 1_000),
    ]);
    const [consumed, milliseconds] = answered.parse(answer);
    return new RateLimiterRes(Math.max(this.points - consumed, 0), milliseconds, consumed, consumed === added);
  }
}
