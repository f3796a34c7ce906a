// How the scalars of `schema/base.graphql`, and those of GraphQL that the service can send wrong, read and write values.
import {
  type ASTNode,
  GraphQLError,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import { isUnreadable } from '../data/parsing.js';
import { Vector } from '../data/vector.js';
import { UpstreamInvalidResponse } from '../errors.js';

/** A vector that went through JSON is a string. */
function asVector(value: unknown): Vector {
  if (value instanceof Vector) return value;
  if (typeof value === 'string') return new Vector(value);
  throw new TypeError('Expected a vector');
}

function asText(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('Expected a string');
  return value;
}

function asObject(value: unknown, node?: ASTNode): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new GraphQLError(`JSONObject cannot represent non-object value: ${value}`, { nodes: node ?? null });
  }
  return value;
}

/** A value of a client. @throws GraphQLError for a number that is read as infinity, such as `1e400`: in JSON it would be null. */
function finite<T>(value: T, node?: ASTNode): T {
  JSON.stringify(value, (_, each) => {
    if (typeof each !== 'number' || Number.isFinite(each)) return each;
    throw new GraphQLError('A number must be within the range of double precision', { nodes: node ?? null });
  });
  return value;
}

/** Made once: a list of records can have it for each value. */
export const cannotBeRead = new UpstreamInvalidResponse('The service sent a value that cannot be read');

/** The serializer for values of the service. One that the scalar cannot hold is a fault of the service. */
const ofService = (serialize: (value: unknown) => unknown) => (value: unknown) => {
  try {
    if (!isUnreadable(value)) return serialize(value);
  } catch {
    // As below.
  }
  throw cannotBeRead;
};

/** Taken now: `createSchema` replaces the methods of GraphQL's own scalars in place. */
const [{ parseLiteral: floatOf }, { parseValue: idOf }] = [GraphQLFloat, GraphQLID];

export const scalars = {
  Int: { serialize: ofService(GraphQLInt.serialize) },
  Float: {
    serialize: ofService(GraphQLFloat.serialize),
    parseLiteral: (node: ValueNode) => finite(floatOf(node), node),
  },
  ID: {
    /** Of a larger number, JSON has lost digits. */
    parseValue(value: unknown) {
      if (typeof value !== 'number' || Number.isSafeInteger(value)) return idOf(value);
      throw new GraphQLError('An ID that is a number must be whole and at most 2^53 - 1: send it as a string');
    },
  },
  /** Passes on the text that the models have validated: parsing it into a Date would round it to milliseconds. */
  DateTime: { serialize: ofService(value => value) },
  /** Accepts any text. The resolver checks whether it is a date, since its error can name the argument. */
  DateOrDateTime: { parseValue: asText },
  Vector: { serialize: asVector },
  JSONObject: {
    serialize: ofService(asObject),
    parseValue: (value: unknown) => finite(asObject(value)),
    parseLiteral: (node: ValueNode, variables?: Record<string, unknown> | null) =>
      finite(asObject(valueFromASTUntyped(node, variables), node), node),
  },
};
