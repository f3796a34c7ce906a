/** Each lease holds `<fence> <holder>`. KEYS: lease, fence, word. */
export const scripts = {
  /**
   * ARGV: holder, lease in ms. Answers the value of the lease that runs now, the last word ('' where there is none) and how many
   * milliseconds that still has. Whoever holds the lease already keeps it: the answer to an earlier try may have been lost.
   * A fence is the server's clock in microseconds, or one more than the last: so it grows even where Redis lost everything.
   */
  take: `
    local word = redis.call('GET', KEYS[3]) or ''
    local left = redis.call('PTTL', KEYS[3])
    local held = redis.call('GET', KEYS[1])
    if held then
      if string.match(held, ' (.*)$') == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
      return {held, word, left}
    end
    local clock = redis.call('TIME')
    local fence = math.max(clock[1] * 1000000 + clock[2], (tonumber(redis.call('GET', KEYS[2])) or 0) + 1)
    local text = string.format('%.0f', fence)
    local value = text .. ' ' .. ARGV[1]
    redis.call('SET', KEYS[2], text, 'EX', 86400)
    redis.call('SET', KEYS[1], value, 'PX', ARGV[2])
    return {value, word, left}`,

  /** ARGV: the lease's value, lease in ms. */
  renew: `
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,

  /** ARGV: the lease's value. */
  release: `
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    return redis.call('DEL', KEYS[1])`,

  /** ARGV: the lease's value, the word, how many ms it is kept (0: nothing is), the channel, its kind: all but a `state` end the lease. */
  announce: `
    if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
    if ARGV[5] ~= 'state' then redis.call('DEL', KEYS[1]) end
    if ARGV[3] == '0' then redis.call('DEL', KEYS[3])
    else redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3]) end
    redis.call('PUBLISH', ARGV[4], ARGV[2])
    return 1`,
} as const;
