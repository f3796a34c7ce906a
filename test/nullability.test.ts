import { expect, test } from '@jest/globals';
import { isListType, isNonNullType } from 'graphql';
import { createSchema } from '../src/schema.js';
import { errorLevels, fieldsOf } from './support/semantic-non-null.js';

const schema = createSchema();

/** The fields with resolvers that are null without an error. All other fields are so if the record has no such member. */
const maybeNull = new Set([
  // What does not exist, or is not there.
  'Query.node',
  'Query.nodes',
  'Query.export',
  'Query.viewer',
  'Market.company',
  'Company.esg',
  'Export.endpoint',
  'Watch.endpoint',
  'Export.market',
  'Export.result',
  'Export.retriedBy',
  'Export.retryOf',
  'ExportDelivered.redirectUrl',
  'ExportReference.url',
  // What the record may lack.
  ...['name', 'subtitle', 'description', 'dateCreated', 'companyCount', 'headerImageUrl', 'reviewStatus'].map(
    name => `Market.${name}`,
  ),
  'Viewer.usage',
  'Event.severity',
  'Event.likelihood',
]);

/** Whether each level of a field's type may be null: that of the field, of the items of its list, and so on. */
function nullableLevels(type: unknown): boolean[] {
  const isNullable = !isNonNullType(type);
  const inner = isNullable ? type : type.ofType;
  return isListType(inner) ? [isNullable, ...nullableLevels(inner.ofType)] : [isNullable];
}

test('it is decided for each field with a resolver whether its null is an error: @semanticNonNull, or `maybeNull` here', () => {
  const undecided = fieldsOf(schema)
    .filter(([coordinate, field]) => field.resolve !== undefined && !maybeNull.has(coordinate))
    .filter(([, field]) => {
      const levels = errorLevels(schema, field);
      return nullableLevels(field.type).some((isNullable, level) => isNullable && !levels.includes(level));
    });
  expect(undecided.map(([coordinate]) => coordinate)).toEqual([]);
});

test('@semanticNonNull stands only where the type allows null, and where null is no data', () => {
  const wrong = fieldsOf(schema).filter(([coordinate, field]) => {
    const levels = errorLevels(schema, field);
    return levels.some(level => nullableLevels(field.type)[level] !== true || maybeNull.has(coordinate));
  });
  expect(wrong.map(([coordinate]) => coordinate)).toEqual([]);
  expect(fieldsOf(schema).filter(([, field]) => errorLevels(schema, field).length > 0).length).toBeGreaterThan(30);
});
