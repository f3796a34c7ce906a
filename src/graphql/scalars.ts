import { type ASTNode, GraphQLError, GraphQLFloat, GraphQLInt, GraphQLScalarType, valueFromASTUntyped } from 'graphql';
import { isUnreadable } from '../data/upstream/schema-drift.js';
import { Vector } from '../data/vector.js';
import { UpstreamInvalidResponse } from '../errors.js';
import { ResponseVector } from './response-text.js';

/** Passes on the text that the models have validated: parsing it into a Date would round it to milliseconds. */
const DateTime = new GraphQLScalarType({ name: 'DateTime', serialize: value => value });

/** Accepts any text. The resolver checks whether it is a date, since its error can name the argument. */
const DateOrDateTime = new GraphQLScalarType<string, string>({ name: 'DateOrDateTime', parseValue: asText });

const JSONObject = new GraphQLScalarType({
  name: 'JSONObject',
  serialize: asObject,
  parseValue: asObject,
  parseLiteral: (node, variables) => asObject(valueFromASTUntyped(node, variables), node),
});

const vectorScalar = new GraphQLScalarType<Vector, ResponseVector>({
  name: 'Vector',
  serialize: value => new ResponseVector(asVector(value)),
});

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

/** How a scalar reads and writes values. Its description and its `specifiedByURL`, even undefined ones, would replace those of the schema. */
function behaviorOf({ serialize, parseValue, parseLiteral }: GraphQLScalarType) {
  return { serialize, parseValue, parseLiteral };
}

/** Made once: a list of records can have it for each value. */
export const cannotBeRead = new UpstreamInvalidResponse(
  'The service sent a value that cannot be read',
  undefined,
  false,
);

/** The scalar for values of the service. One that it cannot hold is a fault of the service. */
function ofService(type: GraphQLScalarType) {
  const { serialize, ...behavior } = behaviorOf(type);
  return {
    ...behavior,
    serialize(value: unknown) {
      try {
        if (!isUnreadable(value)) return serialize(value);
      } catch {
        // As below.
      }
      throw cannotBeRead;
    },
  };
}

/** The scalars of `schema/base.graphql`, and those of GraphQL that the service can send wrong. */
export const scalars = {
  Int: ofService(GraphQLInt),
  Float: ofService(GraphQLFloat),
  DateTime: ofService(DateTime),
  DateOrDateTime: behaviorOf(DateOrDateTime),
  Vector: behaviorOf(vectorScalar),
  JSONObject: ofService(JSONObject),
};
