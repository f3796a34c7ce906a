import { createHash } from 'node:crypto';

/** Up to 64 lower-case hexadecimal digits, always the same for a text. 24 of them look like an ObjectId. */
export const hexOf = (text: string, length: number) => createHash('sha256').update(text).digest('hex').slice(0, length);
