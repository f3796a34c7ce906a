import type { ErrorLike } from '@apollo/client';
import { useMutation, useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import type { SearchCriteriaInput } from '../gql/graphql';
import { onSubmit } from '../ui/form';
import { Problems } from '../ui/Problems';
import styles from './Discover.module.css';

const CapabilitiesDocument = graphql(`
  query DiscoveryCapabilities { capabilities { keywordSuggestion } }
`);

const SuggestKeywordsDocument = graphql(`
  mutation SuggestKeywords($criteria: SearchCriteriaInput!) {
    suggestKeywords(input: { searchCriteria: $criteria }) { keywords }
  }
`);

const KEYWORDS = [
  ['features', 'Features'],
  ['user', 'Users'],
  ['synonyms', 'Synonyms'],
  ['irrelevant', 'Not wanted'],
] as const;

interface CriteriaProps {
  readonly criteria: SearchCriteriaInput;
  readonly change: (criteria: SearchCriteriaInput) => void;
  readonly start: (marketId: string, criteria: SearchCriteriaInput) => void;
  readonly starting: boolean;
  readonly error: ErrorLike | undefined;
}

/** Search criteria to edit. What this form does not show is sent back as it was read. */
export function Criteria({ criteria, change, start, starting, error }: CriteriaProps) {
  const { data } = useQuery(CapabilitiesDocument);
  const [suggest, suggesting] = useMutation(SuggestKeywordsDocument, { variables: { criteria } });
  const keywords = criteria.keywords ?? {};
  const suggested = (suggesting.data?.suggestKeywords?.keywords ?? []).filter(
    word => !KEYWORDS.some(([list]) => keywords[list]?.includes(word)),
  );
  const add = (word: string) =>
    change({ ...criteria, keywords: { ...keywords, features: [...(keywords.features ?? []), word] } });

  return (
    <form onSubmit={onSubmit(form => start(String(form.get('market')), criteria))} className="panel stack">
      <h2>Criteria</h2>
      <label>
        Name of the market
        <input
          value={criteria.marketName ?? ''}
          onChange={({ target }) => change({ ...criteria, marketName: target.value })}
        />
      </label>
      <div className={styles.lists}>
        {KEYWORDS.map(([list, label]) => (
          <WordList
            key={list}
            label={label}
            words={keywords[list] ?? []}
            onChange={words => change({ ...criteria, keywords: { ...keywords, [list]: words } })}
          />
        ))}
        <WordList
          label="Seed domains"
          words={criteria.seedDomains ?? []}
          onChange={seedDomains => change({ ...criteria, seedDomains })}
        />
        <WordList
          label="Countries (two letters)"
          words={(criteria.locations ?? []).map(({ countryCode }) => countryCode)}
          onChange={codes =>
            change({
              ...criteria,
              locations: codes.map(
                code => criteria.locations?.find(({ countryCode }) => countryCode === code) ?? { countryCode: code },
              ),
            })
          }
        />
      </div>
      {data?.capabilities.keywordSuggestion && (
        <div className="row">
          <button type="button" disabled={suggesting.loading} onClick={() => suggest()}>
            Suggest keywords
          </button>
          {suggested.slice(0, 12).map(word => (
            <button key={word} type="button" className={styles.word} onClick={() => add(word)}>
              + {word}
            </button>
          ))}
        </div>
      )}
      <div className="row">
        <label>
          Number of companies
          <input
            type="number"
            min={1}
            value={criteria.count ?? ''}
            onChange={({ target }) => change({ ...criteria, count: target.value === '' ? null : Number(target.value) })}
          />
        </label>
        <label>
          Market number
          <input name="market" inputMode="numeric" pattern="[0-9]+" required />
        </label>
      </div>
      <Problems error={error ?? suggesting.error} />
      <div className="row">
        <button type="submit" className="primary" disabled={starting}>
          {starting ? 'Starting' : 'Start the discovery'}
        </button>
      </div>
    </form>
  );
}

interface WordListProps {
  readonly label: string;
  readonly words: readonly string[];
  readonly onChange: (words: string[]) => void;
}

/** Words with a button each to remove it, and a field to add one. */
function WordList({ label, words, onChange }: WordListProps) {
  return (
    <fieldset>
      <legend>{label}</legend>
      <div className="row">
        {words.map(word => (
          <button
            key={word}
            type="button"
            className={styles.word}
            aria-label={`Remove ${word}`}
            onClick={() => onChange(words.filter(other => other !== word))}
          >
            {word} ✕
          </button>
        ))}
        <input
          aria-label={`Add to ${label}`}
          placeholder="Add"
          onKeyDown={event => {
            const word = event.currentTarget.value.trim();
            if (event.key !== 'Enter') return;
            event.preventDefault();
            event.currentTarget.value = '';
            if (word && !words.includes(word)) onChange([...words, word]);
          }}
        />
      </div>
    </fieldset>
  );
}
