import { type GraphQLResolveInfo, type OperationDefinitionNode, visit } from 'graphql';

const fieldsOf = new WeakMap<OperationDefinitionNode, ReadonlySet<string>>();

/**
 * Whether the document of a running operation selects a field of this name anywhere. That it may be under `@skip` or on another
 * branch does no harm: it is asked only for what is costly to fetch and harmless to have.
 */
export function asksFor(info: GraphQLResolveInfo, field: string): boolean {
  let fields = fieldsOf.get(info.operation);
  if (fields === undefined) {
    fields = fieldNames(info);
    fieldsOf.set(info.operation, fields);
  }
  return fields.has(field);
}

function fieldNames({ operation, fragments }: GraphQLResolveInfo): ReadonlySet<string> {
  const names = new Set<string>();
  for (const definition of [operation, ...Object.values(fragments)]) {
    visit(definition, { Field: ({ name }) => void names.add(name.value) });
  }
  return names;
}
