import graphql from '@graphql-eslint/eslint-plugin';

const rule = name => `@graphql-eslint/${name}`;

const [, naming] = graphql.configs['flat/schema-recommended'].rules[rule('naming-convention')];

/** The rules of the schema: `schema/*.graphql`, taken together as one. */
export default [
  {
    files: ['schema/*.graphql'],
    languageOptions: {
      parser: graphql.parser,
      parserOptions: { graphQLConfig: { schema: 'schema/*.graphql' } },
    },
    plugins: { '@graphql-eslint': graphql },
    rules: {
      ...graphql.configs['flat/schema-recommended'].rules,
      ...graphql.configs['flat/schema-relay'].rules,
      [rule('require-description')]: [
        'error',
        {
          types: true,
          rootField: true,
          DirectiveDefinition: true,
          FieldDefinition: true,
          InputValueDefinition: true,
          EnumValueDefinition: true,
        },
      ],
      [rule('require-nullable-fields-with-oneof')]: 'error',
      // The service's lists go forward only, and short lists are plain ones.
      [rule('relay-arguments')]: ['error', { includeBoth: false }],
      [rule('relay-edge-types')]: [
        'error',
        { withEdgeSuffix: true, shouldImplementNode: false, listTypeCanWrapOnlyEdgeType: false },
      ],
      // Short descriptions stand on one line, long ones in a block.
      [rule('description-style')]: 'off',
      // The service's own names ("alert type"), and records without an identifier.
      [rule('naming-convention')]: ['error', { ...naming, 'ObjectTypeDefinition,ObjectTypeExtension': {} }],
      [rule('no-typename-prefix')]: 'off',
      [rule('strict-id-in-types')]: 'off',
    },
  },
];
