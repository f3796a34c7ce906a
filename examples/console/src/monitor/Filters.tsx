import { useLazyQuery, useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { graphql } from '../gql';
import { FacetMenu, Form, SearchBox } from '../ui';
import { DAYS, DEFAULT_DAYS, listFilter, useEventSearch } from './search';

const CapabilitiesDocument = graphql(`query EventCapabilities { capabilities { eventSearch } }`);

const EventFacetsDocument = graphql(`
  query EventFacets($filter: EventFilter) {
    eventStatistics(filter: $filter) {
      alertTypes { value count }
      affectedDatapoints { value count }
      impactedEntities { value count }
    }
  }
`);

const FACETS = [
  ['alertTypes', 'Alert type'],
  ['affectedDatapoints', 'Datapoint'],
  ['impactedEntities', 'Entity'],
] as const;

/** The filters that are no plot: text, days and the names that events have. */
export function Filters() {
  const { search, change } = useEventSearch();
  const { data } = useQuery(CapabilitiesDocument);
  const [readFacets, facets] = useLazyQuery(EventFacetsDocument, { fetchPolicy: 'cache-and-network' });
  const { alertTypes, affectedDatapoints, impactedEntities, ...others } = search;
  const open = () => readFacets({ variables: { filter: listFilter(others) } });
  const { days, event, version, ...active } = search;
  return (
    <Form className="stack" label="Filters" error={facets.error} retry={facets.refetch}>
      <div className="row line filters">
        {data?.capabilities.eventSearch !== false && (
          <SearchBox
            label="Search events"
            value={search.search}
            onChange={text => change({ search: text }, search.search !== undefined)}
          />
        )}
        <select
          aria-label="Range"
          value={days ?? DEFAULT_DAYS}
          onChange={({ target }) => change({ days: Number(target.value), from: undefined, to: undefined })}
        >
          {DAYS.map(days => (
            <option key={days} value={days}>
              Last {days} days
            </option>
          ))}
        </select>
        {FACETS.map(([name, label]) => (
          <FacetMenu
            key={name}
            label={label}
            options={facets.data?.eventStatistics?.[name]}
            selected={search[name]}
            onChange={selected => change({ [name]: selected })}
            onOpen={open}
          />
        ))}
        {Object.values(active).some(value => value !== undefined) && (
          <Link to="/" search={{ days }} resetScroll={false}>
            Clear filters
          </Link>
        )}
      </div>
    </Form>
  );
}
