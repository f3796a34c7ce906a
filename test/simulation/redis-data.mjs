// What one Redis holds, and the commands that gateways send, as Redis 7 executes them; `test/simulated-redis.test.ts` compares it with a real one. Strings
// hold bytes as latin1. Scripts run in fengari, a Lua in JavaScript. `ioredis-mock` was no choice: it replaces the client, whose pipelines, reconnects and
// timeouts are what a gateway depends on.
import fengari from 'fengari';

const { lua, lauxlib, lualib } = fengari;

export const ok = { ok: 'OK' };
const error = message => new Error(message);
const wrongType = () => error('WRONGTYPE Operation against a key holding the wrong kind of value');
const copyOf = entry =>
  entry && { ...entry, value: typeof entry.value === 'string' ? entry.value : structuredClone(entry.value) };
/** How far back writes can be lost, in milliseconds. */
const journalMs = 10_000;

export class RedisData {
  keys = new Map();
  scripts = new Map();
  #journal = [];
  #now;

  /** @param now the time in milliseconds since 1970. */
  constructor(now) {
    this.#now = now;
  }

  /** Executes a command. @returns text, a number, null, a list, or `{ ok }`. @throws Error with the words of Redis. */
  call(name, ...args) {
    const command = this[`do_${name.toUpperCase()}`];
    if (command === undefined) throw error(`ERR unknown command '${name}'`);
    return command.apply(this, args.map(String));
  }

  /** Takes back the writes since then, as a replica does that did not get them. */
  loseSince(time) {
    for (const [at, key, before] of this.#journal.toReversed()) {
      if (at < time) break;
      if (before === undefined) this.keys.delete(key);
      else this.keys.set(key, before);
    }
    this.#journal = [];
  }

  /** Evicts by `volatile-*`: only keys with an expiry. */
  evict(isChosen) {
    for (const [key, { expiresAt }] of [...this.keys]) if (expiresAt !== undefined && isChosen()) this.keys.delete(key);
  }

  #find(key, Type) {
    const entry = this.keys.get(key);
    if (entry?.expiresAt !== undefined && entry.expiresAt <= this.#now()) this.keys.delete(key);
    else if (entry !== undefined && Type !== undefined && Object(entry.value).constructor !== Type) throw wrongType();
    else return entry;
    return undefined;
  }

  #note(key) {
    const now = this.#now();
    this.#journal.push([now, key, copyOf(this.#find(key))]);
    while (this.#journal[0][0] < now - journalMs) this.#journal.shift();
  }

  /** The map or the set under a key, made if it is missing. */
  #made(key, Type) {
    const found = this.#find(key, Type);
    this.#note(key);
    if (found !== undefined) return found.value;
    const value = new Type();
    this.keys.set(key, { value });
    return value;
  }

  #string = key => this.#find(key, String)?.value ?? null;
  do_GET = key => this.#string(key);
  do_MGET = (...keys) => keys.map(key => (Object(this.#find(key)?.value) instanceof String ? this.#string(key) : null));
  do_EXISTS = (...keys) => keys.filter(key => this.#find(key) !== undefined).length;
  do_TYPE = key => {
    const value = this.#find(key)?.value;
    const name = { String: 'string', Map: value?.isSorted ? 'zset' : 'hash', Set: 'set' }[
      Object(value).constructor.name
    ];
    return { ok: value === undefined ? 'none' : name };
  };

  do_SET = (key, value, ...options) => {
    const given = options.map(option => option.toUpperCase());
    const has = name => given.includes(name);
    const lifeMs = has('EX')
      ? options[given.indexOf('EX') + 1] * 1_000
      : has('PX')
        ? +options[given.indexOf('PX') + 1]
        : undefined;
    if (Number.isNaN(lifeMs)) throw error('ERR value is not an integer or out of range');
    if (lifeMs !== undefined && !(lifeMs > 0)) throw error("ERR invalid expire time in 'set' command");
    const before = has('GET') ? this.#string(key) : null;
    const found = this.#find(key);
    const isSet = !(has('NX') && found !== undefined) && !(has('XX') && found === undefined);
    if (isSet) {
      this.#note(key);
      const expiresAt = lifeMs === undefined ? (has('KEEPTTL') ? found?.expiresAt : undefined) : this.#now() + lifeMs;
      this.keys.set(key, { value, expiresAt });
    }
    return has('GET') ? before : isSet ? ok : null;
  };

  do_DEL = (...keys) =>
    keys.filter(key => {
      if (this.#find(key) === undefined) return false;
      this.#note(key);
      return this.keys.delete(key);
    }).length;
  do_UNLINK = this.do_DEL;

  do_INCRBY = (key, by) => {
    const checked = value => {
      if (!/^-?(0|[1-9]\d*)$/.test(value)) throw error('ERR value is not an integer or out of range');
      return Number(value);
    };
    const added = checked(by);
    const found = this.#find(key, String);
    const value = checked(found?.value ?? 0) + added;
    this.#note(key);
    this.keys.set(key, { ...found, value: String(value) });
    return value;
  };
  do_INCR = key => this.do_INCRBY(key, 1);

  do_PEXPIRE = (key, milliseconds) => {
    if (!Number.isInteger(Number(milliseconds))) throw error('ERR value is not an integer or out of range');
    const found = this.#find(key);
    if (found === undefined) return 0;
    this.#note(key);
    if (milliseconds <= 0) this.keys.delete(key);
    else this.keys.set(key, { ...found, expiresAt: this.#now() + Number(milliseconds) });
    return 1;
  };
  do_EXPIRE = (key, seconds) => this.do_PEXPIRE(key, seconds * 1_000);
  do_PTTL = key => {
    const found = this.#find(key);
    return found === undefined ? -2 : found.expiresAt === undefined ? -1 : found.expiresAt - this.#now();
  };
  do_TTL = key => {
    const left = this.do_PTTL(key);
    return left < 0 ? left : Math.floor((left + 500) / 1_000);
  };

  #hash = key => {
    const found = this.#find(key, Map);
    if (found?.value.isSorted) throw wrongType();
    return found?.value;
  };
  do_HGET = (key, field) => this.#hash(key)?.get(field) ?? null;
  do_HMGET = (key, ...fields) => fields.map(field => this.#hash(key)?.get(field) ?? null);
  do_HGETALL = key => [...(this.#hash(key) ?? [])].flat();
  do_HKEYS = key => [...(this.#hash(key)?.keys() ?? [])];
  do_HSET = (key, ...pairs) => {
    this.#hash(key);
    const hash = this.#made(key, Map);
    const before = hash.size;
    for (let index = 0; index < pairs.length; index += 2) hash.set(pairs[index], pairs[index + 1]);
    return hash.size - before;
  };
  do_HDEL = (key, ...fields) => {
    if (this.#hash(key) === undefined) return 0;
    const hash = this.#made(key, Map);
    const count = fields.filter(field => hash.delete(field)).length;
    if (hash.size === 0) this.keys.delete(key);
    return count;
  };

  do_SADD = (key, ...members) => {
    const set = this.#made(key, Set);
    const before = set.size;
    for (const member of members) set.add(member);
    return set.size - before;
  };
  do_SMEMBERS = key => [...(this.#find(key, Set)?.value ?? [])];

  #sorted = key => {
    const found = this.#find(key, Map);
    if (found !== undefined && !found.value.isSorted) throw wrongType();
    return found?.value;
  };
  do_ZADD = (key, ...pairs) => {
    this.#sorted(key);
    const set = Object.assign(this.#made(key, Map), { isSorted: true });
    const before = set.size;
    for (let index = 0; index < pairs.length; index += 2) set.set(pairs[index + 1], pairs[index]);
    return set.size - before;
  };
  do_ZSCORE = (key, member) => this.#sorted(key)?.get(member) ?? null;
  do_ZREMRANGEBYSCORE = (key, min, max) => {
    const set = this.#sorted(key);
    const bound = text =>
      ({ '-inf': Number.NEGATIVE_INFINITY, '+inf': Number.POSITIVE_INFINITY })[text] ?? Number(text);
    const gone = [...(set ?? [])].filter(([, score]) => Number(score) >= bound(min) && Number(score) <= bound(max));
    if (gone.length > 0) this.#note(key);
    for (const [member] of gone) set.delete(member);
    if (set?.size === 0) this.keys.delete(key);
    return gone.length;
  };

  do_SCAN = (_cursor, ...options) => {
    const pattern = options[options.findIndex(option => /^match$/i.test(option)) + 1] ?? '*';
    const matches = new RegExp(`^${pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`);
    return ['0', [...this.keys.keys()].filter(key => matches.test(key) && this.#find(key) !== undefined)];
  };
  do_TIME = () => [String(Math.floor(this.#now() / 1_000)), String((this.#now() % 1_000) * 1_000)];
  do_FLUSHALL = () => {
    this.keys.clear();
    return ok;
  };

  do_EVAL = (script, count, ...rest) => {
    const run = this.scripts.get(script) ?? this.#compiled(script);
    this.scripts.set(script, run);
    return run(rest.slice(0, count), rest.slice(count));
  };

  #compiled(script) {
    const state = lauxlib.luaL_newstate();
    lualib.luaL_openlibs(state);
    const call = isProtected => () => {
      const args = Array.from({ length: lua.lua_gettop(state) }, (_, index) => textAt(state, index + 1));
      try {
        push(state, this.call(...args));
        return 1;
      } catch (failure) {
        push(state, { err: failure.message });
        return isProtected ? 1 : lua.lua_error(state);
      }
    };
    lua.lua_newtable(state);
    for (const [name, isProtected] of [
      ['call', false],
      ['pcall', true],
    ]) {
      lua.lua_pushjsfunction(state, call(isProtected));
      lua.lua_setfield(state, -2, bytes(name));
    }
    lua.lua_setglobal(state, bytes('redis'));
    if (lauxlib.luaL_loadstring(state, bytes(script)) !== lua.LUA_OK)
      throw error(`ERR Error compiling script ${textAt(state, -1)}`);
    return (keys, args) => {
      for (const [name, list] of [
        ['KEYS', keys],
        ['ARGV', args],
      ]) {
        push(state, list);
        lua.lua_setglobal(state, bytes(name));
      }
      lua.lua_pushvalue(state, 1);
      const status = lua.lua_pcall(state, 0, 1, 0);
      const result =
        status === lua.LUA_OK || lua.lua_istable(state, -1) ? valueAt(state, -1) : error(`ERR ${textAt(state, -1)}`);
      lua.lua_settop(state, 1);
      if (result instanceof Error) throw result;
      return result;
    };
  }
}

const bytes = text => Uint8Array.from(Buffer.from(text, 'latin1'));
function textAt(state, index) {
  const text = Buffer.from(lauxlib.luaL_tolstring(state, index)).toString('latin1');
  lua.lua_pop(state, 1);
  return text;
}

function push(state, value) {
  if (value === null) lua.lua_pushboolean(state, false);
  else if (typeof value === 'number') lua.lua_pushinteger(state, value);
  else if (typeof value === 'string') lua.lua_pushstring(state, bytes(value));
  else {
    lua.lua_newtable(state);
    for (const [index, each] of Object.entries(value)) {
      push(state, each);
      if (Array.isArray(value)) lua.lua_rawseti(state, -2, Number(index) + 1);
      else lua.lua_setfield(state, -2, bytes(index));
    }
  }
}

/** A value of Lua as a reply. */
function valueAt(state, index) {
  if (lua.lua_isboolean(state, index)) return lua.lua_toboolean(state, index) ? 1 : null;
  if (lua.lua_type(state, index) === lua.LUA_TNUMBER) return Math.trunc(lua.lua_tonumber(state, index));
  if (lua.lua_isstring(state, index)) return textAt(state, index);
  if (!lua.lua_istable(state, index)) return null;
  for (const name of ['err', 'ok']) {
    lua.lua_getfield(state, index, bytes(name));
    const text = lua.lua_isnil(state, -1) ? undefined : textAt(state, -1);
    lua.lua_pop(state, 1);
    if (text !== undefined) return name === 'err' ? error(text) : { ok: text };
  }
  const list = [];
  for (let place = 1; ; place += 1) {
    lua.lua_rawgeti(state, index, place);
    if (lua.lua_isnil(state, -1)) break;
    list.push(valueAt(state, lua.lua_gettop(state)));
    lua.lua_pop(state, 1);
  }
  lua.lua_pop(state, 1);
  return list;
}
