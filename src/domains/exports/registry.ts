// The endpoints of teams: how they are registered, changed and removed, and what they keep sealed.
import { randomUUID } from 'node:crypto';
import type { TeamKey } from '../../auth/teams.js';
import { BadUserInput, Conflict } from '../../errors.js';
import type { ExportHeaderInput, UpdateExportEndpointInput } from '../../generated/schema-types.js';
import { timeNow } from '../../lib/clock.js';
import type { AddressRefused } from './address-guard.js';
import { templateUrl } from './endpoint.js';
import type { Endpoint } from './model.js';
import { loggedEndpoint, type SenderDeps } from './sender.js';
import { newSigningSecret, rotatedSecrets } from './signing.js';
import { endpointNamed, withChanged, withEndpoint, withoutEndpoint } from './team-state.js';

export class Registry {
  readonly #deps: Omit<SenderDeps, 'report'>;

  constructor(deps: Omit<SenderDeps, 'report'>) {
    this.#deps = deps;
  }

  /**
   * Adds an endpoint. Everything except its URL has been checked. Its signing secret is shown only now.
   * @throws BadUserInput for a URL that exports may not use; Conflict if the name is taken.
   */
  async register(
    team: TeamKey,
    { headers, ...named }: Pick<Endpoint, 'name' | 'url' | 'description'> & { headers: readonly ExportHeaderInput[] },
  ) {
    await this.#checkUrl(named.url);
    const signingSecret = newSigningSecret();
    const endpoint: Endpoint = {
      ...named,
      registration: randomUUID(),
      revision: randomUUID(),
      failingSince: null,
      headerNames: headers.map(header => header.name),
      ...(await this.#deps.seals.sealAll(team, named, valuesOf(headers), rotatedSecrets([], signingSecret, 0))),
    };
    await this.#deps.store.change(team, state => ({ value: withEndpoint(state, endpoint), result: undefined }));
    return { endpoint, signingSecret };
  }

  /**
   * Changes an endpoint; null changes nothing. Its signing secret stays. Everything except the URL has been checked.
   * @throws BadUserInput for a URL that exports may not use, or one to whose server the values of headers would go that were registered for another;
   *   NotFound; Conflict if no secret opens what it has sealed, or if it is changed twice at once.
   */
  async update(team: TeamKey, { endpoint: name, url, description, headers }: UpdateExportEndpointInput) {
    const { store, seals } = this.#deps;
    if (url != null) await this.#checkUrl(url);
    const before = endpointNamed(await store.read(team), name);
    const named = { name, url: url ?? before.url, description: description ?? before.description };
    const isElsewhere = new URL(named.url).origin !== new URL(before.url).origin;
    if (headers == null && before.headerNames.length > 0 && isElsewhere) {
      throw new BadUserInput('input.headers', 'must be given again, because the URL leads to another server');
    }
    // Headers that are replaced need not be opened.
    const kept = await seals.openAll(team, headers == null ? before : { ...before, headerNames: [] });
    // An export goes on if it is sent where it was, with the same headers.
    const isSame = headers == null && named.url === before.url;
    const changes = {
      ...(!isSame && { revision: randomUUID(), failingSince: null }),
      ...named,
      headerNames: headers?.map(header => header.name) ?? before.headerNames,
      ...(await seals.sealAll(team, named, headers == null ? kept.headers : valuesOf(headers), kept.secrets)),
    };
    const endpoint = await this.#storeChange(team, before, changes);
    if (!isSame) this.#forgetFailures(team, before);
    return endpoint;
  }

  /**
   * Replaces the signing secret of an endpoint by one that is shown only now. The old one signs for 24 more hours.
   * @throws NotFound; Conflict if it is replaced twice at once.
   */
  async rotateSecret(team: TeamKey, name: string) {
    const { store, seals } = this.#deps;
    const before = endpointNamed(await store.read(team), name);
    // A secret that cannot be decrypted any more can still be replaced.
    const current = await seals.openSecrets(team, before);
    const signingSecret = newSigningSecret();
    const secrets = rotatedSecrets(current ?? [], signingSecret, timeNow());
    // The headers stay sealed as they are.
    const { sealedSigningSecrets } = await seals.sealAll(team, before, {}, secrets);
    return { endpoint: await this.#storeChange(team, before, { sealedSigningSecrets }), signingSecret };
  }

  /** @returns the endpoint that is no more. @throws NotFound */
  async remove(team: TeamKey, name: string): Promise<Endpoint> {
    const removed = await this.#deps.store.change(team, state => ({
      value: withoutEndpoint(state, name),
      result: endpointNamed(state, name),
    }));
    this.#forgetFailures(team, removed);
    return removed;
  }

  /** Operators are told no longer of what the endpoint did not take while it was as before. */
  #forgetFailures(team: TeamKey, { name, failingSince }: Endpoint): void {
    this.#deps.telemetry.endpointWorks(loggedEndpoint(team, name), failingSince !== null);
  }

  /** @throws BadUserInput for a URL that exports may not use. */
  async #checkUrl(url: string): Promise<void> {
    const { guard, httpsOnly } = this.#deps;
    await guard.check(templateUrl(url, httpsOnly)).catch((refused: AddressRefused) => {
      throw new BadUserInput('input.url', refused.message);
    });
  }

  /** @throws Conflict if the endpoint was changed at the same time. */
  #storeChange(team: TeamKey, before: Endpoint, changes: Parameters<typeof withChanged>[2]): Promise<Endpoint> {
    return this.#deps.store.change(team, state => {
      const value = withChanged(state, before, changes);
      if (value === undefined) throw new Conflict('The endpoint was changed at the same time; try again');
      return { value, result: endpointNamed(value, before.name) };
    });
  }
}

const valuesOf = (headers: readonly ExportHeaderInput[]) =>
  Object.fromEntries(headers.map(({ name, value }) => [name, value]));
