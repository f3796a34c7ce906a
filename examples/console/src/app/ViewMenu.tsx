import { useLocation, useRouter } from '@tanstack/react-router';
import { type DocumentNode, print } from 'graphql';
import { Button, CopyButton, Popover, useStored } from '../ui';
import { useViewer } from './session';

/** Keeps the address of a screen under a name, and copies it, or the document and the variables that the screen reads. */
export function ViewMenu({ document, variables }: { document: DocumentNode; variables: Record<string, unknown> }) {
  const { viewer } = useViewer();
  const { history } = useRouter();
  const { href, pathname } = useLocation();
  const key = `views ${viewer?.email ?? ''}`;
  const [views = [], setViews] = useStored<{ name: string; href: string }[]>(key, localStorage);
  const isHere = (view: { href: string }) => view.href.split('?')[0] === pathname;
  const without = (name: string) => views.filter(view => view.name !== name || !isHere(view));
  return (
    <Popover label="Views">
      <div className="stack">
        {views.filter(isHere).map(({ name, href }) => (
          <div key={name} className="row">
            <Button label={name} className="link" onClick={() => history.push(href)} />
            <Button label="✕" className="quiet" aria-label={`Remove ${name}`} onClick={() => setViews(without(name))} />
          </div>
        ))}
        <form
          className="row"
          onSubmit={event => {
            event.preventDefault();
            const name = String(new FormData(event.currentTarget).get('name'));
            setViews([...without(name), { name, href }]);
            event.currentTarget.reset();
          }}
        >
          <input name="name" aria-label="Name of this view" placeholder="Name of this view" maxLength={60} required />
          <button type="submit">Save</button>
        </form>
        <div className="row">
          <CopyButton label="Copy link" done="Link copied" text={() => location.href} />
          <CopyButton label="Copy as GraphQL" done="Query copied" text={() => asGraphQL(document, variables)} />
        </div>
      </div>
    </Popover>
  );
}

/** A query with its variables as their defaults, so that it can be run as it is. */
function asGraphQL(document: DocumentNode, variables: Readonly<Record<string, unknown>>): string {
  return print(document)
    .replace(/^ *__typename\n/gm, '')
    .replace(/\$(\w+): [\w![\]]+/g, (definition, name) =>
      variables[name] == null ? definition : `${definition} = ${literal(variables[name])}`,
    );
}

/** A value as GraphQL writes it: names, and the values of enums, have no quotes. In a text, a quote has a backslash before it. */
const literal = (value: unknown) =>
  JSON.stringify(value)
    .replace(/"(\w+)":/g, '$1: ')
    .replace(/\b(field|direction): "(\w+)"/g, '$1: $2');
