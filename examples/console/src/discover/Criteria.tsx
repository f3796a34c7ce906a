import type { ErrorLike } from '@apollo/client';
import { useMutation, useQuery } from '@apollo/client/react';
import { graphql } from '../gql';
import type { SearchCriteriaInput } from '../gql/graphql';
import { useRecentMarkets } from '../market/recent';
import { Button, countryName, Form, Problems } from '../ui';

const CapabilitiesDocument = graphql(`
  query DiscoveryCapabilities { capabilities { keywordSuggestion } }
`);

const SuggestKeywordsDocument = graphql(`
  mutation SuggestKeywords($criteria: SearchCriteriaInput!) {
    suggestKeywords(input: { searchCriteria: $criteria }) { keywords }
  }
`);

const KEYWORDS = [
  ['features', 'What they offer'],
  ['user', 'Who uses it'],
  ['synonyms', 'Other words for it'],
  ['irrelevant', 'Not wanted'],
] as const;

type Keywords = (typeof KEYWORDS)[number][0];

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const CODES = LETTERS.flatMap(first => LETTERS.map(second => first + second));
/** Codes of the countries by their names. */
const COUNTRIES = new Map(
  CODES.map(code => [countryName(code), code] as const).filter(([name, code]) => name !== code),
);

interface CriteriaProps {
  readonly criteria: SearchCriteriaInput;
  /** The market that is chosen at first. */
  readonly market: number | undefined;
  readonly change: (criteria: SearchCriteriaInput) => void;
  readonly start: (marketId: string, criteria: SearchCriteriaInput) => void;
  readonly starting: boolean;
  readonly error: ErrorLike | undefined;
}

/** Search criteria to edit. What this form does not show is sent back as it was read. */
export function Criteria({ criteria, market, change, start, starting, error }: CriteriaProps) {
  const { data } = useQuery(CapabilitiesDocument);
  const [suggest, suggesting] = useMutation(SuggestKeywordsDocument, { variables: { criteria } });
  const keywords = criteria.keywords ?? {};
  const setWords = (list: Keywords, words: string[]) =>
    change({ ...criteria, keywords: { ...keywords, [list]: words } });
  const suggested = (suggesting.data?.suggestKeywords?.keywords ?? []).filter(
    word => !KEYWORDS.some(([list]) => keywords[list]?.includes(word)),
  );
  const locations = criteria.locations ?? [];
  const locationOf = (name: string) => {
    const code = COUNTRIES.get(name);
    const known = locations.find(location => countryName(location.countryCode) === name);
    return known ?? (code ? { countryCode: code, countryName: name } : []);
  };
  const known = useRecentMarkets().markets;

  return (
    <Form className="panel stack" error={error} onSubmit={form => start(String(form.get('marketId')), criteria)}>
      <h2>Criteria</h2>
      <div className="columns">
        {KEYWORDS.map(([list, label]) => (
          <WordList key={list} label={label} words={keywords[list] ?? []} onChange={words => setWords(list, words)} />
        ))}
        <WordList
          label="Websites of companies that fit"
          words={criteria.seedDomains ?? []}
          onChange={seedDomains => change({ ...criteria, seedDomains })}
        />
        <WordList
          label="Countries"
          options={[...COUNTRIES.keys()]}
          words={locations.map(({ countryCode }) => countryName(countryCode))}
          onChange={names => change({ ...criteria, locations: names.flatMap(locationOf) })}
        />
      </div>
      {data?.capabilities.keywordSuggestion && (
        <div className="row">
          <Button label="Suggest more words" disabled={suggesting.loading} onClick={() => suggest()} />
          {suggested.slice(0, 12).map(word => (
            <button
              key={word}
              type="button"
              className="chip"
              onClick={() => setWords('features', [...(keywords.features ?? []), word])}
            >
              + {word}
            </button>
          ))}
        </div>
      )}
      <Problems error={suggesting.error} />
      <div className="columns">
        <label>
          Name of the market
          <input
            name="marketName"
            value={criteria.marketName ?? ''}
            onChange={({ target }) => change({ ...criteria, marketName: target.value })}
          />
        </label>
        <label>
          At most this many companies
          <input
            type="number"
            name="count"
            min={1}
            placeholder="no limit"
            value={criteria.count ?? ''}
            onChange={({ target }) => change({ ...criteria, count: target.value === '' ? null : Number(target.value) })}
          />
        </label>
        <label htmlFor="market">
          Market that gets the companies
          {known.length > 0 ? (
            <select id="market" name="marketId" defaultValue={market} required>
              <option value="">Choose one</option>
              {known.map(each => (
                <option key={each.id} value={each.id}>
                  {each.name}
                </option>
              ))}
            </select>
          ) : (
            <input id="market" name="marketId" placeholder="its number" pattern="[0-9]+" required />
          )}
        </label>
      </div>
      <div className="row">
        <button type="submit" className="primary" disabled={starting}>
          {starting ? 'Starting' : 'Start the discovery'}
        </button>
      </div>
    </Form>
  );
}

interface WordListProps {
  readonly label: string;
  readonly words: readonly string[];
  /** The words that can be added. Left out: any. */
  readonly options?: readonly string[];
  readonly onChange: (words: string[]) => void;
}

/** Words with a button each to remove it, and a field to add one. */
function WordList({ label, words, options, onChange }: WordListProps) {
  const add = (input: HTMLInputElement) => {
    const text = input.value.trim();
    const word = options ? options.find(option => option.toLowerCase() === text.toLowerCase()) : text;
    if (!word) return;
    input.value = '';
    if (!words.includes(word)) onChange([...words, word]);
  };
  return (
    <fieldset>
      <legend>{label}</legend>
      <div className="row">
        {words.map(word => (
          <button
            key={word}
            type="button"
            className="chip"
            aria-label={`Remove ${word}`}
            onClick={() => onChange(words.filter(other => other !== word))}
          >
            {word} ✕
          </button>
        ))}
        <input
          aria-label={`Add to ${label}`}
          placeholder="Add"
          list={options && 'options'}
          onBlur={({ currentTarget }) => add(currentTarget)}
          onKeyDown={event => {
            if (event.key === 'Enter') event.preventDefault();
            if (event.key === 'Enter') add(event.currentTarget);
          }}
        />
        {options && (
          <datalist id="options">
            {options.map(option => (
              <option key={option} value={option} />
            ))}
          </datalist>
        )}
      </div>
    </fieldset>
  );
}
