import { useMutation } from '@apollo/client/react';
import { graphql } from '../gql';
import type { SearchCriteriaInput, StartDiscoveryMutation } from '../gql/graphql';
import { useRecentMarkets } from '../market/recent';
import { Button, countryName, Field, Form, Submit } from '../ui';

const KEYWORDS = [
  ['features', 'What they offer'],
  ['user', 'Who uses it'],
  ['synonyms', 'Other words for it'],
  ['irrelevant', 'Not wanted'],
] as const;

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const CODES = LETTERS.flatMap(first => LETTERS.map(second => first + second));
/** Codes of the countries by their names. A code that another one has replaced, such as UK, has the same name. */
const COUNTRIES = new Map(
  CODES.filter(code => new Intl.Locale(`und-${code}`).region === code)
    .map(code => [countryName(code), code] as const)
    .filter(([name, code]) => name !== code),
);

const StartDiscoveryDocument = graphql(`
  mutation StartDiscovery($marketId: ID!, $criteria: SearchCriteriaInput!) {
    startDiscovery(input: { marketId: $marketId, searchCriteria: $criteria }) {
      ... on DiscoveryStarted { marketId }
      ... on DiscoveryAlreadyRunning { marketId }
    }
  }
`);

export type Started = NonNullable<StartDiscoveryMutation['startDiscovery']>;

interface CriteriaProps {
  readonly criteria: SearchCriteriaInput;
  /** The market that is chosen at first. */
  readonly market: number | undefined;
  readonly change: (criteria: SearchCriteriaInput) => void;
  readonly onStarted: (started: Started) => void;
}

/** Search criteria to edit. What this form does not show is sent back as it was read. */
export function Criteria({ criteria, market, change, onStarted }: CriteriaProps) {
  const [start, { loading, error }] = useMutation(StartDiscoveryDocument);
  const submit = async (form: FormData) => {
    const { data } = await start({ variables: { marketId: String(form.get('marketId')), criteria } });
    if (data?.startDiscovery) onStarted(data.startDiscovery);
  };
  const locations = criteria.locations ?? [];
  const locationOf = (name: string) => {
    const code = COUNTRIES.get(name);
    const known = locations.find(location => countryName(location.countryCode) === name);
    return known ?? (code ? { countryCode: code, countryName: name } : []);
  };
  const known = useRecentMarkets().markets;

  return (
    <Form className="panel stack" error={error} onSubmit={submit}>
      <h2>Criteria</h2>
      <div className="columns">
        {KEYWORDS.map(([list, label]) => (
          <WordList
            key={list}
            label={label}
            words={criteria.keywords?.[list] ?? []}
            onChange={words => change({ ...criteria, keywords: { ...criteria.keywords, [list]: words } })}
          />
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
      <div className="columns">
        <Field
          label="Name of the market"
          name="marketName"
          value={criteria.marketName ?? ''}
          onChange={({ target }) => change({ ...criteria, marketName: target.value })}
        />
        <Field
          label="At most this many companies"
          name="count"
          type="number"
          min={1}
          placeholder="no limit"
          value={criteria.count ?? ''}
          onChange={({ target }) => change({ ...criteria, count: Number(target.value) || null })}
        />
        <Field
          label="Number of the market that gets the companies"
          name="marketId"
          defaultValue={market}
          list="markets"
          placeholder="choose one that you have opened, or type it"
          pattern="[0-9]+"
          required
        />
        <datalist id="markets">
          {known.map(({ id, name }) => (
            <option key={id} value={id} label={`${id}: ${name}`} />
          ))}
        </datalist>
      </div>
      <div className="row">
        <Submit label="Start the discovery" busy="Starting" sending={loading} />
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
    input.setCustomValidity(text && !word ? 'Choose one of the list.' : '');
    if (!word) return;
    input.value = '';
    if (!words.includes(word)) onChange([...words, word]);
  };
  return (
    <fieldset>
      <legend>{label}</legend>
      <div className="row">
        {words.map(word => (
          <Button
            key={word}
            label={`${word} ✕`}
            className="chip"
            aria-label={`Remove ${word}`}
            onClick={() => onChange(words.filter(other => other !== word))}
          />
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
