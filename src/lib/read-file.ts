import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

const mebibyte = 1024 * 1024;

/**
 * The text of an operator's file.
 * @throws Error if it is larger, or no regular file: a pipe or a device could wait or go on for ever.
 */
export function readTextFile(file: string, maxMiB = 16): string {
  // Without `O_NONBLOCK`, opening a pipe waits for its writer.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    // Reading a folder fails by itself.
    if (!found.isFile() && !found.isDirectory()) throw new Error('it is not a regular file');
    if (found.size > maxMiB * mebibyte) throw new Error(`it is larger than ${maxMiB} MB`);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}
