import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type GraphQLError,
  type GraphQLSchema,
  getNullableType,
  isListType,
  locatedError,
  responsePathAsArray,
} from 'graphql';
import { isLeftOut, present } from '../../data/parsing.js';
import { RecordLeftOut } from '../../errors.js';
import { andThen, oncePerValue } from '../../lib/run.js';

/** What graphql-js has left out, by the context of the execution. */
export const leftOutIn = oncePerValue((_context: object): GraphQLError[] => []);

/** A schema for graphql-js, whose lists leave out the records that cannot be read, as the lists of a plan do. */
export const leavingOut = oncePerValue((schema: GraphQLSchema) =>
  mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: config => {
      if (!isListType(getNullableType(config.type))) return undefined;
      const { resolve = defaultFieldResolver } = config;
      return {
        ...config,
        resolve: (source, args, context, info) =>
          andThen(resolve(source, args, context, info), list => {
            if (!Array.isArray(list) || !list.some(isLeftOut)) return list;
            const errors = list.filter(isLeftOut).map(({ $leftOut }) => new RecordLeftOut($leftOut));
            const path = responsePathAsArray(info.path);
            leftOutIn(context).push(...errors.map(error => locatedError(error, info.fieldNodes, path)));
            return present(list);
          }),
      };
    },
  }),
);
