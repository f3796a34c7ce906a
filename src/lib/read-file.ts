import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const mebibyte = 1024 * 1024;

/**
 * The text of an operator's file. @param maxMiB counts what is read: a file may grow meanwhile.
 * @throws Error if it is larger, or no regular file: a pipe or a device could wait or go on for ever.
 */
export function readTextFile(file: string, maxMiB = 16): string {
  // Without `O_NONBLOCK`, opening a pipe waits for its writer.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    // Reading a folder fails by itself.
    if (!found.isFile() && !found.isDirectory()) throw new Error('it is not a regular file');
    const chunks: Buffer[] = [];
    let size = found.size;
    for (let total = 0; size <= maxMiB * mebibyte; size = total) {
      const chunk = Buffer.alloc(size - total + 1024);
      const length = readSync(descriptor, chunk);
      // Without a byte order mark, which some editors of Windows write.
      if (length === 0) return new TextDecoder().decode(Buffer.concat(chunks));
      chunks.push(chunk.subarray(0, length));
      total += length;
    }
    throw new Error(`it is larger than ${maxMiB} MB`);
  } finally {
    closeSync(descriptor);
  }
}
