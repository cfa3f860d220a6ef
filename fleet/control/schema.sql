-- What servers of a fleet share. Every statement may run again: the first server that connects creates what is missing.
create schema if not exists ninepocket;

-- The version of this schema, and the version of the keys: it grows by one with each change of keys, under the row's
-- lock, so that versions are visible in their order.
create table if not exists ninepocket.control (
	one         boolean primary key default true check (one),
	form        integer not null,
	version     bigint not null
);
insert into ninepocket.control (form, version) values (1, 0) on conflict do nothing;

-- Tenants and keys as the keys file of one machine encodes them, a row each. No row is ever removed.
create table if not exists ninepocket.tenants (
	name        text primary key,
	record      jsonb not null,
	version     bigint not null
);
create index if not exists tenants_version on ninepocket.tenants (version);
create table if not exists ninepocket.keys (
	hash        bytea primary key, -- SHA-256 of the key, which nobody stores
	id          text not null unique,
	tenant      text not null references ninepocket.tenants,
	number      bigint generated always as identity, -- in the order of their creation
	record      jsonb not null,
	version     bigint not null
);
create index if not exists keys_version on ninepocket.keys (version);
create table if not exists ninepocket.key_log (
	number      bigint generated always as identity primary key,
	entry       jsonb not null
);
create table if not exists ninepocket.key_uses (
	key         text primary key,
	used_at     timestamptz not null
);

-- The secrets that sign cursors: two at most.
create table if not exists ninepocket.cursor_keys (
	number      bigint generated always as identity primary key,
	secret      bytea not null check (length(secret) = 32),
	made_at     timestamptz not null default now()
);

-- Servers, by the names of their state directories. A session is one run: a second one on a copy of the directory is
-- found by it. Days up to rolled are aggregated in the ledger without the incarnation.
create table if not exists ninepocket.servers (
	incarnation text primary key,
	session     text not null,
	host        text not null,
	version     text not null,
	snapshot    text not null default '',
	epoch       bigint not null default 0,
	images      text not null default '', -- hash of the folder of card images, '' = without one
	pending     bigint not null default 0,
	started_at  timestamptz not null default now(),
	seen_at     timestamptz not null default now(),
	exported_at timestamptz, -- when nothing was pending last
	forgotten_at timestamptz,
	rolled      date not null default '1970-01-01'
);

-- Totals, which only grow. What a state directory lost, as after it was restored from an older copy, stays counted:
-- lost_calls and lost_charged are added to what it reports.
create table if not exists ninepocket.ledger (
	tenant       text not null,
	day          date not null,
	key          text not null,
	op           text not null,
	incarnation  text not null, -- '' = aggregated
	calls        bigint not null,
	charged      bigint not null,
	lost_calls   bigint not null default 0,
	lost_charged bigint not null default 0,
	primary key (tenant, day, key, op, incarnation)
);
create index if not exists ledger_incarnation on ninepocket.ledger (incarnation, day);

create or replace view ninepocket.usage as
	select tenant, key, day, op, sum(calls)::bigint as calls, sum(charged)::bigint as charged
	from ninepocket.ledger group by tenant, key, day, op;

-- What was sent by hooks.
create table if not exists ninepocket.hooks (
	one         boolean primary key default true check (one),
	record      jsonb not null
);
