import { readdirSync, readFileSync } from 'node:fs';

/** What was read from the disk: the texts of files, and the names in folders, by path. */
export type FilesRead = Record<string, string | readonly string[]>;

/** In a worker, what the first process has read. */
let passedOn: FilesRead | undefined;
let record: FilesRead | undefined;

/** The text of a file that a setting names. @throws Error if it cannot be read */
export const readText = (path: string): string => read(path, file => readFileSync(file, 'utf8'));

/** The names in a folder that a setting names. @throws Error if it cannot be read */
export const readNames = (folder: string): readonly string[] => read(folder, path => readdirSync(path));

function read<T extends string | readonly string[]>(path: string, fromDisk: (path: string) => T): T {
  const value = (passedOn?.[path] as T | undefined) ?? fromDisk(path);
  if (record !== undefined) record[path] = value;
  return value;
}

/** Runs a function, and gives back all that it has read. @throws what it throws */
export function recordFiles(readAll: () => void): FilesRead {
  const files: FilesRead = {};
  record = files;
  try {
    readAll();
    return files;
  } finally {
    record = undefined;
  }
}

/** From now on, `files` are read in place of those on the disk, which may have changed. */
export function passOnFiles(files: FilesRead): void {
  passedOn = files;
}
