import { useQuery } from '@apollo/client/react';
import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider } from '@ariakit/react';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { graphql } from '../gql';
import { useRecentMarkets } from '../market/recent';
import { Modal, Problems } from '../ui';
import { SCREENS } from './screens';

const FindCompaniesDocument = graphql(`
  query FindCompanies($id: ID!, $search: String!) {
    market(id: $id) { nodeId id companies(first: 8, filter: { search: $search }) { edges { node { id domain name } } } }
  }
`);

/** Goes to a screen, to a market, or to a company of the market that is open. */
export function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const { id } = useParams({ strict: false });
  const { markets } = useRecentMarkets();
  const [text, setText] = useState('');
  const [search, setSearch] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSearch(text.trim()), 200);
    return () => clearTimeout(timer);
  }, [text]);
  const { data, loading, error } = useQuery(FindCompaniesDocument, {
    variables: { id: id ?? '', search },
    skip: !id || search === '',
  });
  const isCurrent = search === text.trim();
  const companies = (isCurrent && data?.market?.companies?.edges.map(({ node }) => node)) || [];
  const entries = [
    ...SCREENS.map(([name, to]) => ({ key: to, name, kind: 'Screen', go: () => navigate({ to }) })),
    ...markets.map(({ id, name }) => ({
      key: id,
      name,
      kind: 'Market',
      go: () => navigate({ to: '/markets/$id', params: { id } }),
    })),
    ...companies.map(({ domain, name }) => ({
      key: domain,
      name: name ?? domain,
      kind: 'Company',
      go: () => navigate({ to: '.', search: last => ({ ...last, company: domain }) }),
    })),
  ];
  const wanted = text.trim().toLowerCase();
  const found = entries.filter(({ kind, name }) => kind === 'Company' || name.toLowerCase().includes(wanted));
  return (
    <Modal title="Go to" onClose={onClose}>
      <ComboboxProvider setValue={setText}>
        <Combobox
          autoSelect="always"
          aria-label="A screen, a market or a company"
          placeholder={id ? 'A screen, a market or a company of this one' : 'A screen or a market'}
        />
        <ComboboxList alwaysVisible aria-label="Found">
          {found.map(({ key, name, kind, go }) => (
            <ComboboxItem
              key={`${kind} ${key}`}
              className="option row"
              value={name}
              setValueOnClick={false}
              onClick={() => {
                onClose();
                void go();
              }}
            >
              {name} <small>{kind}</small>
            </ComboboxItem>
          ))}
        </ComboboxList>
        <Problems error={isCurrent ? error : undefined} />
        {found.length === 0 && isCurrent && !loading && !error && <p className="empty">Nothing has this name.</p>}
      </ComboboxProvider>
    </Modal>
  );
}
