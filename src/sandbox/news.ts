import type { EventStore } from './event-store.js';
import type { Random } from './random.js';
import { eventOf, type Sighting } from './world/events.js';
import type { World } from './world/world.js';

/** How many of these events the service knows at a time. */
const MOST_EVENTS = 100;

/**
 * Returns a function that lets the events go on by one step: a new event with one observation, or one more observation of the last event, until that has two
 * to six. So about every fourth step is a new event. The oldest of them is forgotten, so that the service does not grow.
 */
export function createNews(world: World, events: EventStore, random: Random, now: () => number): () => void {
  const known: string[] = [];
  let count = 0;
  let sightings: Sighting[] = [];
  let expected = 0;

  function begin(sighting: Sighting): void {
    sightings = [sighting];
    expected = random.int(2, 6);
    known.push(events.publish(eventOf(sightings, random))._id);
    const oldest = known.length > MOST_EVENTS ? known.shift() : undefined;
    if (oldest !== undefined) events.forget(oldest);
  }

  function goOn(sighting: Sighting): void {
    sightings = [...sightings, sighting];
    const { title, summary, vectorIndex, references } = eventOf(sightings, random);
    events.touch(known.at(-1) ?? '', { title, summary, vectorIndex, references });
  }

  return () => {
    const last = sightings.length < expected ? sightings.at(-1) : undefined;
    const happening = last?.happening ?? world.happen(count++, now(), random);
    const sighting = world.observe(happening, now(), random);
    events.addObservation(sighting.observation);
    if (last === undefined) begin(sighting);
    else goOn(sighting);
  };
}
