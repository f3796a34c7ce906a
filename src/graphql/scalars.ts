import { GraphQLScalarType } from 'graphql';
import { GraphQLJSONObject } from 'graphql-scalars';
import { Vector } from '../data/embeddings/vector.js';
import { VectorInAnswer } from './answer-text.js';

/** Passes on what the models have checked, digit for digit: parsing a time into a Date would round it to milliseconds. */
const DateTime = new GraphQLScalarType<string, string>({ name: 'DateTime', serialize: value => value as string });

/** Takes any text: whether it is a date is for the resolver to say, whose error names the argument. */
const DateOrDateTime = new GraphQLScalarType<string, string>({ name: 'DateOrDateTime', parseValue: asText });

const vectorScalar = new GraphQLScalarType<Vector, VectorInAnswer>({
  name: 'Vector',
  serialize: value => new VectorInAnswer(asVector(value)),
});

/** One that went through JSON is nothing but its text. */
function asVector(value: unknown): Vector {
  if (value instanceof Vector) return value;
  if (typeof value === 'string') return new Vector(value);
  throw new TypeError('Expected a vector');
}

function asText(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('Expected a string');
  return value;
}

/** The scalars of `schema/base.graphql`. */
export const scalars = { DateTime, DateOrDateTime, Vector: vectorScalar, JSONObject: GraphQLJSONObject };
