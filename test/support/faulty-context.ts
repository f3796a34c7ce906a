import {
  GraphQLNonNull,
  type GraphQLNullableType,
  type GraphQLOutputType,
  type GraphQLSchema,
  isEnumType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { NotFound, UpstreamTimeout } from '../../src/errors.js';
import { type Draw, drawFrom } from './seeded.js';

/** A context whose loaders answer with whatever a schema's types allow, and with much that they do not. */
export interface FaultyContext {
  readonly context: object;
  /** What the resolvers asked for, in their order. */
  readonly calls: readonly string[];
}

/** What each loader answers with, by the type in the schema. */
const answers: Readonly<Record<string, string>> = {
  'events.window': 'window',
  'events.ofCompany': 'window',
  'events.observation': 'Observation',
  'markets.record': 'Market',
  'markets.topics': '[Topic]',
  'markets.suggestions': '[String]',
  'companies.list': '[Company]',
  'companies.facets': 'CompanyFacets',
  'companies.byDomain': 'Company',
  'companies.esg': 'JSONObject',
  'discovery.jobs': '[Job]',
  'discovery.criteria': 'SearchCriteria',
  'discovery.criteriaHistory': '[SearchCriteria]',
  'exports.stateOf': 'team',
};

const capabilities = ['eventSearch', 'keywordSuggestion', 'marketRecords', 'marketData', 'exports'];

/**
 * The same for the same seed: values, nulls, errors, promises that settle after some turns, and values of wrong types.
 * @param trouble how likely a value is to be at fault.
 */
export function faultyContext(schema: GraphQLSchema, seed: string, trouble: number): FaultyContext {
  const calls: string[] = [];

  function answer(name: string, args: readonly unknown[]): unknown {
    const call = `${name}${JSON.stringify(args)}`;
    calls.push(call);
    const draw = drawFrom(`${seed} ${call}`);
    const value = () => answerOf(answers[name] ?? '', draw);
    const make = draw.chance(trouble) ? () => fault(draw) : value;
    return draw.chance(0.5) ? late(make, draw) : make();
  }

  function answerOf(type: string, draw: Draw): unknown {
    if (type === 'window')
      return { events: answerOf('[Event]', draw), totalItems: draw.below(9), unfilteredTotalItems: null };
    if (type === 'team') return { endpoints: answerOf('[ExportEndpoint]', draw), exports: answerOf('[Export]', draw) };
    const item = schema.getType(type.replace(/^\[(.*)\]$/, '$1')) as GraphQLNullableType & GraphQLOutputType;
    return type.startsWith('[') ? listOf(new GraphQLNonNull(item), draw) : sound(item, draw);
  }

  function listOf(item: GraphQLOutputType, draw: Draw): unknown[] {
    return Array.from({ length: draw.below(3) }, () => drawn(item, draw));
  }

  function drawn(type: GraphQLOutputType, draw: Draw): unknown {
    const isFault = draw.chance(trouble);
    const isNull = draw.chance(isNonNullType(type) ? trouble / 4 : 0.05);
    const make = () => (isFault ? fault(draw) : isNull ? null : sound(type, draw));
    if (draw.chance(isFault ? 0.3 : trouble)) return late(make, draw);
    // What throws now does so where a field is asked for.
    return isFault ? () => fault(draw) : make();
  }

  function sound(type: GraphQLOutputType, draw: Draw): unknown {
    if (isNonNullType(type)) return sound(type.ofType, draw);
    if (isListType(type)) {
      const items = listOf(type.ofType, draw);
      return draw.chance(0.05) ? new Set(items) : items;
    }
    if (isEnumType(type)) return draw.pick(type.getValues()).value;
    if (isObjectType(type)) {
      const plain = Object.values(type.getFields()).filter(({ resolve }) => resolve === undefined);
      return Object.fromEntries(plain.map(field => [field.name, drawn(field.type, draw)]));
    }
    switch (String(type)) {
      case 'Int':
        return draw.below(100);
      case 'Float':
        return draw.next();
      case 'Boolean':
        return draw.chance(0.5);
      case 'JSONObject':
        return { list: [1, null], [`k${draw.below(5)}`]: { deep: draw.below(5) } };
      case 'Vector':
        return '0.25,-1e-7,3';
      default:
        return draw.pick(['', 'text "quoted"', 'o-1', 'o-2', '7', 'grün\n']);
    }
  }

  const room = (name: string) => {
    const own = Object.keys(answers).filter(each => each.startsWith(`${name}.`));
    return Object.fromEntries(
      own.map(each => [each.slice(name.length + 1), (...args: unknown[]) => answer(each, args)]),
    );
  };
  const [events, markets, companies, discovery] = ['events', 'markets', 'companies', 'discovery'].map(room);
  const draw = drawFrom(seed);
  const context = {
    loaders: { events, markets, companies, discovery },
    exports: room('exports'),
    teams: { teamOf: () => draw.pick([{ key: 'name:team', name: 'team' }, null]), isAdmin: () => true },
    metadata: { forbidCaching() {} },
    capabilities: Object.fromEntries(capabilities.map(name => [name, draw.chance(0.5)])),
    credentialIfAny: draw.chance(0.3)
      ? undefined
      : draw.pick([{ kind: 'apiKey' }, { kind: 'cookie', name: 'Ada', email: undefined }]),
    credential: { kind: draw.pick(['apiKey', 'bearer', 'cookie']), name: 'Ada', email: undefined },
  };
  return { context, calls };
}

/** What is made after some turns; what that throws, it rejects with. */
function late(make: () => unknown, draw: Draw): Promise<unknown> {
  const turns = draw.below(6);
  const value = (async () => {
    for (let turn = 0; turn < turns; turn += 1) await undefined;
    return make();
  })();
  // No one may ask for it.
  value.catch(() => {});
  return value;
}

function fault(draw: Draw): unknown {
  switch (draw.below(9)) {
    case 0:
      throw new UpstreamTimeout('The service took too long');
    case 1:
      throw new NotFound('Not found');
    case 2:
      throw 'no error at all';
    case 3:
      return new Error('in the place of a value');
    case 4:
      return undefined;
    case 5:
      return Number.NaN;
    case 6:
      return { unexpected: true };
    case 7:
      return () => draw.pick(['from a function', null, 12]);
    default:
      return null;
  }
}
