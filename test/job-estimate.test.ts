import { expect, test } from '@jest/globals';
import { present } from '../src/data/parsing.js';
import {
  estimatedEnd,
  measured,
  nextHistory,
  overallProgress,
  type ProgressHistory,
} from '../src/domains/discovery/estimate.js';
import type { Job } from '../src/domains/discovery/model.js';

const minute = 60_000;

/** A job of a recorded course; `null`: the job shows no progress, `'done'`: it has ended. */
type Recorded = number | null | 'done';

function job(id: number, recorded: Recorded): Job {
  const finished = recorded === 'done';
  const progress = finished ? 100 : recorded;
  const rest = {
    completion: null,
    marketId: '1',
    phase: 'DISCOVERY',
    workflowName: null,
    startTime: null,
    status: null,
  } as const;
  return { id: String(id), progress, endTime: null, finished, ...rest };
}

/** What clients see at each poll of a course, polled once a minute: the progress, and the minutes that remain. */
function replay(course: readonly (readonly Recorded[])[]) {
  let history: ProgressHistory | undefined;
  return course.map((recorded, index) => {
    const [jobs, at] = [recorded.map((value, id) => job(id, value)), index * minute];
    history = nextHistory(history, jobs, at);
    const end = estimatedEnd(jobs, history, at);
    expect(end ?? at).toBeGreaterThanOrEqual(at);
    return [overallProgress(present(measured(jobs, history.scale)), 0), end === null ? null : (end - at) / minute];
  });
}

test('a steady course in percent is estimated from the second poll on', () => {
  expect(replay([[0], [10], [20], [50], [100], ['done']])).toEqual([
    [0, null],
    [0.1, 9],
    [0.2, 8],
    [0.5, 3],
    [1, 0],
    [1, null],
  ]);
});

test('noise in the progress is no pace', () => {
  expect(replay([[30], [30.000000000000004], [40]])).toEqual([
    [0.3, null],
    [0.30000000000000004, null],
    [0.4, expect.closeTo(12)],
  ]);
});

test('a course in shares of 1 is read like one in percent', () => {
  expect(replay([[0], [0.25], [0.5]])).toEqual([
    [0, null],
    [0.25, 3],
    [0.5, 2],
  ]);
});

test('a progress of 1 is not read until another value shows the scale', () => {
  expect(replay([[1], [1], [21]])).toEqual([
    [null, null],
    [null, null],
    [0.21, expect.closeTo(7.9)],
  ]);
});

test('percentages below 1 do not change a scale that is known to be percent', () => {
  expect(replay([[50], [0.5], [25.25]]).map(([progress]) => progress)).toEqual([0.5, 0.005, 0.2525]);
});

test('the slowest job decides, and the progress is the mean of all jobs', () => {
  expect(
    replay([
      [0, 0],
      [50, 10],
      ['done', 20],
    ]),
  ).toEqual([
    [0, null],
    [0.3, 9],
    [0.6, 8],
  ]);
});

test('a job that stands still moves the estimate further away', () => {
  expect(replay([[10], [30], [30], [30]]).map(([, minutes]) => minutes)).toEqual([null, 3.5, 7, 10.5]);
});

test('a job that begins from the start is observed from there again', () => {
  expect(replay([[40], [80], [0], [10]]).map(([, minutes]) => minutes)).toEqual([null, 0.5, null, 9]);
});

test('there is no estimate while a running job shows no progress, or one that cannot be read', () => {
  expect(
    replay([
      [0, null],
      [50, null],
      [60, 120],
      [70, -5],
    ]),
  ).toEqual([
    [0, null],
    [0.5, null],
    [0.6, null],
    [0.7, null],
  ]);
});

test('there is nothing to estimate without jobs', () => {
  expect(replay([[], ['done']])).toEqual([
    [null, null],
    [1, null],
  ]);
});

test('the completion of a job is what its own list shows of the scale', () => {
  const completions = (...recorded: Recorded[]) =>
    present(measured(recorded.map((value, id) => job(id, value)))).map(({ completion }) => completion);
  expect(completions(50, 0.5, 0, 'done', null, 120, -5)).toEqual([0.5, 0.005, 0, 1, null, null, null]);
  expect(completions(0.25, 1, 0)).toEqual([0.25, 1, 0]);
  expect(completions(1, 0)).toEqual([null, 0]);
});
