import { GraphQLScalarType } from 'graphql';
import { GraphQLJSONObject } from 'graphql-scalars';
import { VectorText } from './vector-text.js';

/** Passes on what the models have checked, digit for digit: parsing a time into a Date would round it to milliseconds. */
const DateTime = new GraphQLScalarType<string, string>({ name: 'DateTime', serialize: value => value as string });

/** Takes any text: whether it is a date is for the resolver to say, whose error names the argument. */
const DateOrDateTime = new GraphQLScalarType<string, string>({ name: 'DateOrDateTime', parseValue: asText });

/** Models hold a vector as the text between its brackets, and so it stays until the answer is written. */
const Vector = new GraphQLScalarType<string, VectorText>({
  name: 'Vector',
  serialize: value => new VectorText(value as string),
});

function asText(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('Expected a string');
  return value;
}

/** The scalars of `schema/base.graphql`. */
export const scalars = { DateTime, DateOrDateTime, Vector, JSONObject: GraphQLJSONObject };
