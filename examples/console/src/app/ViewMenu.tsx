import { useLocation, useRouter } from '@tanstack/react-router';
import { type DocumentNode, print } from 'graphql';
import { useState } from 'react';
import { Button, Form, Popover, useStored } from '../ui';
import { useViewer } from './session';

interface ViewMenuProps {
  /** What the screen reads. */
  readonly document: DocumentNode;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Keeps the address of a screen under a name, and copies it, or what the screen reads. */
export function ViewMenu(props: ViewMenuProps) {
  const owner = useViewer().viewer?.email ?? '';
  return <Views key={owner} owner={owner} {...props} />;
}

function Views({ owner, document, variables }: ViewMenuProps & { owner: string }) {
  const { history } = useRouter();
  const { href, pathname } = useLocation();
  const [views = [], setViews] = useStored<{ name: string; href: string }[]>(`views ${owner}`, localStorage);
  const [copied, setCopied] = useState<string>();
  const copy = async (what: string, text: string) => {
    await navigator.clipboard.writeText(text);
    setCopied(`${what} copied`);
  };
  const without = (name: string) => views.filter(view => view.name !== name);
  return (
    <Popover label="Views" onOpen={() => setCopied(undefined)}>
      <div className="stack">
        {views
          .filter(view => view.href.split('?')[0] === pathname)
          .map(({ name, href }) => (
            <div key={name} className="row">
              <Button label={name} className="link" onClick={() => history.push(href)} />
              <Button
                label="✕"
                className="quiet"
                aria-label={`Remove ${name}`}
                onClick={() => setViews(without(name))}
              />
            </div>
          ))}
        <Form
          className="row"
          onSubmit={form => setViews([...without(String(form.get('name'))), { name: String(form.get('name')), href }])}
        >
          <input name="name" aria-label="Name of this view" placeholder="Name of this view" maxLength={60} required />
          <button type="submit">Save</button>
        </Form>
        <div className="row">
          <Button label="Copy link" onClick={() => copy('Link', location.href)} />
          <Button label="Copy as GraphQL" onClick={() => copy('Query', asGraphQL(document, variables))} />
          <small role="status">{copied}</small>
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

/** A value as GraphQL writes it. @param name of its member: these have values of enums. */
function literal(value: unknown, name = ''): string {
  if (Array.isArray(value)) return `[${value.map(item => literal(item)).join(', ')}]`;
  if (typeof value !== 'object' || value === null)
    return ['field', 'direction'].includes(name) ? String(value) : JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{ ${members.map(([name, member]) => `${name}: ${literal(member, name)}`).join(', ')} }`;
}
