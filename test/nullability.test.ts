import { expect, test } from '@jest/globals';
import { isListType, isNonNullType } from 'graphql';
import { createSchema } from '../src/schema.js';
import { errorLevels, fieldsOf } from './support/semantic-non-null.js';

const schema = createSchema();
const fields = fieldsOf(schema);

/** Whether a description says when null is data. All fields without a resolver are null if the record has no such member. */
const saysNull = ({ description }: (typeof fields)[number][1]) =>
  /\bnull(, without an error,)?\s(if|while|for|where|after)\b/i.test(description ?? '');

/** Whether each level of a field's type may be null: that of the field, of the items of its list, and so on. */
function nullableLevels(type: unknown): boolean[] {
  const isNullable = !isNonNullType(type);
  const inner = isNullable ? type : type.ofType;
  return isListType(inner) ? [isNullable, ...nullableLevels(inner.ofType)] : [isNullable];
}

test('it is decided for each field with a resolver whether its null is an error: @semanticNonNull, or a description that says when it is null', () => {
  const undecided = fields
    .filter(([, field]) => field.resolve !== undefined && !saysNull(field))
    .filter(([, field]) => {
      const levels = errorLevels(schema, field);
      return nullableLevels(field.type).some((isNullable, level) => isNullable && !levels.includes(level));
    });
  expect(undecided.map(([coordinate]) => coordinate)).toEqual([]);
});

test('@semanticNonNull stands only where the type allows null, and where null is no data', () => {
  const wrong = fields.filter(([, field]) => {
    const levels = errorLevels(schema, field);
    return levels.some(level => nullableLevels(field.type)[level] !== true || saysNull(field));
  });
  expect(wrong.map(([coordinate]) => coordinate)).toEqual([]);
  expect(fields.filter(([, field]) => errorLevels(schema, field).length > 0).length).toBeGreaterThan(30);
});
