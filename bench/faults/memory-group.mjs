// A control group of the kernel (cgroup), as a container has: it kills a process that needs more memory than the group may have.
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

const root = '/sys/fs/cgroup';
const { parent, limit, events } = existsSync(`${root}/memory`)
  ? { parent: `${root}/memory`, limit: 'memory.limit_in_bytes', events: 'memory.oom_control' }
  : { parent: root, limit: 'memory.max', events: 'memory.events' };

/** Whether this user may create groups: root may, where the file system of the groups is writable. */
export function canLimitMemory() {
  try {
    accessSync(parent, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param {number} bytes */
export function createMemoryGroup(bytes) {
  const folder = `${parent}/faults-${process.pid}`;
  mkdirSync(folder);
  writeFileSync(`${folder}/${limit}`, String(bytes));
  return {
    /** The shell command that puts its shell into the group. */
    enter: `echo $$ > ${folder}/cgroup.procs`,
    /** How many processes were killed for want of memory. */
    kills: () => Number(/^oom_kill (\d+)/m.exec(readFileSync(`${folder}/${events}`, 'utf8'))?.[1]),
    /** Only when its processes have ended. */
    remove: () => rmdirSync(folder),
  };
}
