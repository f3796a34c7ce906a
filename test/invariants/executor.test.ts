import { expect, test } from '@jest/globals';
import { parse, validate } from 'graphql';
import { runs, schema, withoutStacks } from '../support/compare-executors.js';
import { randomQuery } from '../support/random-queries.js';
import { drawFrom } from '../support/seeded.js';

withoutStacks();

test('plans 10,000 random queries, and executes them as graphql-js does', async () => {
  let plans = 0;
  for (let number = 0; number < 10_000; number += 1) {
    const { text, operationName } = randomQuery(schema, drawFrom(`query ${number}`));
    if (number % 50 === 0) expect(validate(schema, parse(text))).toEqual([]);
    plans += await runs(text, operationName, text.includes('$') ? 2 : 1, `${number}`);
  }
  expect(plans).toBeGreaterThan(10_000);
});
