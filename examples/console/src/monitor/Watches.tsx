import { useApolloClient, useMutation, useQuery } from '@apollo/client/react';
import { Link } from '@tanstack/react-router';
import { useState, useTransition } from 'react';
import { EndpointSelect } from '../exports/EndpointSelect';
import { graphql } from '../gql';
import { Button, Form, Modal, Problems, Time } from '../ui';
import { beginWatch, keepWatch, keptWatches } from './keptWatches';
import { type EventSearch, nameOf } from './search';

const WatchesDocument = graphql(`
  query Watches {
    watches { id until endpoint { nodeId name } lastDelivery { at status } }
  }
`);

const StopWatchingDocument = graphql(`
  mutation StopWatching($id: ID!) { stopWatching(input: { watch: $id }) { watch { id } } }
`);

/** Begins and ends the delivery of events to an endpoint of the team. */
export function Watches({ search, onClose }: { search: EventSearch; onClose: () => void }) {
  const client = useApolloClient();
  const list = useQuery(WatchesDocument, { fetchPolicy: 'network-only', pollInterval: 2_000 });
  const [stop, stopping] = useMutation(StopWatchingDocument);
  const [sending, startSending] = useTransition();
  const [failure, setFailure] = useState<Awaited<ReturnType<typeof beginWatch>>>();
  const watches = list.data?.watches ?? [];
  const begin = async (form: FormData) => {
    setFailure(await beginWatch(client, { endpoint: String(form.get('endpoint')), search }));
    await list.refetch();
  };
  const end = async (id: string) => {
    keepWatch(id, undefined);
    await stop({ variables: { id } });
    await list.refetch();
  };
  return (
    <Modal title="Watch" onClose={onClose}>
      <Form className="stack" error={failure} onSubmit={form => startSending(() => begin(form))}>
        <p>
          Sends each event that comes or changes from now on to an endpoint: <strong>{nameOf(search)}</strong>. It goes
          on while this tab is open and you stay signed in, and ends at most 15 minutes later. A restart of the gateway
          may end it at once.
        </p>
        <EndpointSelect label="Watch" disabled={sending} />
      </Form>
      <Problems error={list.error ?? stopping.error} />
      {watches.length > 0 && <h2>What is watched</h2>}
      <ul className="stack">
        {watches.map(({ id, until, endpoint, lastDelivery }) => {
          const kept = keptWatches().find(watch => watch.id === id);
          return (
            <li key={id} className="panel row">
              <span className="wide">
                {kept ? (
                  <Link to="/" search={kept.search}>
                    {nameOf(kept.search)}
                  </Link>
                ) : (
                  'Of another tab or program'
                )}{' '}
                to <strong>{endpoint?.name ?? 'a deleted endpoint'}</strong>
              </span>
              <small>
                Lasts until <Time at={until} />
                {kept ? ', then renewed. ' : '. '}
                {lastDelivery ? resultOf(lastDelivery.status) : 'Nothing was sent yet.'}{' '}
                {lastDelivery && <Time at={lastDelivery.at} />}
              </small>
              <Button label="Stop" disabled={stopping.loading} onClick={() => end(id)} />
            </li>
          );
        })}
      </ul>
    </Modal>
  );
}

/** What an endpoint made of a delivery. */
function resultOf(status: number | null): string {
  if (status === null) return 'No answer, sent again:';
  return status >= 200 && status < 300 ? 'Last taken:' : `Answered ${status}, sent again:`;
}
