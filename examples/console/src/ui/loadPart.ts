import { makeVar } from '@apollo/client';

/** Whether a part of the page could not be loaded, because there is no connection. */
export const isAway = makeVar(false);
const PAUSE_MS = 2_000;

/** Loads a part of the page. Without a connection it waits for one, and does not give up. */
export async function loadPart<Part>(load: () => Promise<Part>): Promise<Part> {
  for (;;) {
    try {
      const part = await load();
      isAway(false);
      return part;
    } catch (failure) {
      // The server is there, but not the part: it belongs to an earlier version of the page.
      if (await fetch('/', { method: 'HEAD' }).then(Boolean, () => false)) {
        if (!isAway()) throw failure;
        isAway(false);
      } else isAway(true);
      await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
    }
  }
}
