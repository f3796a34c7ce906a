import { expect, test } from '@jest/globals';
import { isListType, isNonNullType } from 'graphql';
import { createSchema } from '../src/schema.js';
import { errorLevels, fieldsOf } from './support/semantic-non-null.js';

const schema = createSchema();

/** What a market's record may lack. */
const ofRecord = ['name', 'subtitle', 'description', 'dateCreated', 'companyCount', 'headerImageUrl', 'reviewStatus'];
/** The fields with resolvers that are null without an error: a sentence "Null if ..." of their descriptions says when, but for these. */
const known = new Set([
  'Query.nodes',
  'Query.export',
  'ExportDelivered.redirectUrl',
  'ExportReference.url',
  ...ofRecord.map(name => `Market.${name}`),
]);
const maybeNull = (coordinate: string, { description }: { readonly description?: string | null | undefined }) =>
  known.has(coordinate) || /\bNull\b/.test(description ?? '');

/** Whether each level of a field's type may be null: that of the field, of the items of its list, and so on. */
function nullableLevels(type: unknown): boolean[] {
  const isNullable = !isNonNullType(type);
  const inner = isNullable ? type : type.ofType;
  return isListType(inner) ? [isNullable, ...nullableLevels(inner.ofType)] : [isNullable];
}

test('it is decided for each field with a resolver whether its null is an error: @semanticNonNull, or a description that says when it is null', () => {
  const undecided = fieldsOf(schema)
    .filter(([coordinate, field]) => field.resolve !== undefined && !maybeNull(coordinate, field))
    .filter(([, field]) => {
      const levels = errorLevels(schema, field);
      return nullableLevels(field.type).some((isNullable, level) => isNullable && !levels.includes(level));
    });
  expect(undecided.map(([coordinate]) => coordinate)).toEqual([]);
});

test('@semanticNonNull stands only where the type allows null, and where null is no data', () => {
  const wrong = fieldsOf(schema).filter(([coordinate, field]) => {
    const levels = errorLevels(schema, field);
    return levels.some(level => nullableLevels(field.type)[level] !== true || maybeNull(coordinate, field));
  });
  expect(wrong.map(([coordinate]) => coordinate)).toEqual([]);
  expect(fieldsOf(schema).filter(([, field]) => errorLevels(schema, field).length > 0).length).toBeGreaterThan(30);
});
