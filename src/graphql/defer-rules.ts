import { type ASTVisitor, GraphQLError, Kind, type ValidationContext, type ValidationRule } from 'graphql';

/** The rules of GraphQL for `@defer`, which graphql-js 16 does not have. */
export const deferRules: readonly ValidationRule[] = [notOnRootFields, uniqueLabels];

/** Mutations run one after the other, and each event of a subscription has one root field: neither can be deferred. */
function notOnRootFields(context: ValidationContext): ASTVisitor {
  const schema = context.getSchema();
  return {
    Directive(node) {
      const parent = context.getParentType();
      const isRoot = parent != null && (parent === schema.getMutationType() || parent === schema.getSubscriptionType());
      if (node.name.value !== 'defer' || !isRoot) return;
      const message = `The directive "@defer" cannot be used on root fields of the type "${parent.name}".`;
      context.reportError(new GraphQLError(message, { nodes: node }));
    },
  };
}

function uniqueLabels(context: ValidationContext): ASTVisitor {
  const known = new Set<string>();
  return {
    Directive(node) {
      const label = node.arguments?.find(({ name }) => name.value === 'label')?.value;
      if (node.name.value !== 'defer' || label === undefined || label.kind === Kind.NULL) return;
      const isStatic = label.kind === Kind.STRING;
      if (!isStatic || known.has(label.value)) {
        const message = `The label of "@defer" must be ${isStatic ? 'unique' : 'a string, not a variable'}.`;
        context.reportError(new GraphQLError(message, { nodes: node }));
      }
      if (isStatic) known.add(label.value);
    },
  };
}
