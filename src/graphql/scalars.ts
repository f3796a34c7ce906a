import { GraphQLScalarType } from 'graphql';
import { GraphQLJSONObject } from 'graphql-scalars';
import { Vector } from '../vector.js';
import { VectorInAnswer } from './answer-text.js';

/** Passes on what the models have checked, digit for digit: parsing a time into a Date would round it to milliseconds. */
const DateTime = new GraphQLScalarType<string, string>({ name: 'DateTime', serialize: value => value as string });

/** Takes any text: whether it is a date is for the resolver to say, whose error names the argument. */
const DateOrDateTime = new GraphQLScalarType<string, string>({ name: 'DateOrDateTime', parseValue: asText });

/** A vector stays text until the answer is written. One that went through JSON is nothing but its text. */
const vectorScalar = new GraphQLScalarType<Vector, VectorInAnswer>({
  name: 'Vector',
  serialize: value => new VectorInAnswer(typeof value === 'string' ? new Vector(value) : (value as Vector)),
});

function asText(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('Expected a string');
  return value;
}

/** The scalars of `schema/base.graphql`. */
export const scalars = { DateTime, DateOrDateTime, Vector: vectorScalar, JSONObject: GraphQLJSONObject };
