import type { EventStore } from './event-store.js';
import { eventOf, type Observation, type Occurrence, observationOf, occurrences } from './world/events.js';

/** How many of these events the service knows at a time. */
const maxEvents = 100;

/**
 * Returns a function that takes the events one step further: a new event with one observation, or one more observation of the last event,
 * until it has all its reports. So about every fourth step is a new event. The oldest of them is forgotten, so that the service does not grow.
 */
export function createNews(events: EventStore, now: () => number): () => void {
  const known: string[] = [];
  let count = 0;
  let occurrence: Occurrence | undefined;
  let observations: Observation[] = [];

  return () => {
    if (occurrence === undefined || observations.length === occurrence.reports.length) {
      occurrence = nextOccurrence(count++);
      observations = [];
    }
    const report = occurrence.reports[observations.length] as Occurrence['reports'][number];
    const observation = observationOf(occurrence, report, `news ${count} ${observations.length}`, now());
    observations = [...observations, observation];
    events.addObservation(observation);
    const event = eventOf(occurrence, observations, `news ${count}`);
    if (observations.length > 1) {
      const { title, summary, vectorIndex, references } = event;
      events.touch(event._id, { title, summary, vectorIndex, references });
      return;
    }
    known.push(events.publish(event)._id);
    const oldest = known.length > maxEvents ? known.shift() : undefined;
    if (oldest !== undefined) events.forget(oldest);
  };
}

/** The story and the reports of one occurrence of the data, with the names and figures of another. */
function nextOccurrence(index: number): Occurrence {
  const at = (place: number) => occurrences[place % occurrences.length] as Occurrence;
  const { words, impact } = at(index * 7 + 3);
  return { ...at(index), words, impact };
}
