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

-- Changes of plans: the last one of a name is in force, and one without a record removes it. Bills of earlier days need
-- the others.
create table if not exists ninepocket.plans (
	number      bigint generated always as identity primary key,
	name        text not null,
	changed_at  timestamptz not null default now(),
	record      jsonb
);
create or replace view ninepocket.present_plans as
	select name, record from (select distinct on (name) name, record from ninepocket.plans order by name, number desc) p
	where record is not null;

-- The limits that each server would give by the database and its own file. A database without it gets what is missing:
-- see Prepare.
create table if not exists ninepocket.server_plans (
	incarnation text primary key,
	plans       jsonb not null,
	reported_at timestamptz not null default now()
);
create or replace function ninepocket.report_plans(server text, plans jsonb) returns void language sql as $$
	insert into ninepocket.server_plans (incarnation, plans)
	select server, jsonb_object_agg(key, value - 'price') from jsonb_each(report_plans.plans)
	on conflict (incarnation) do update set plans = excluded.plans, reported_at = now() $$;

-- The plans of the database, and those of all servers but one: the silent and the forgotten hold nobody back.
create or replace function ninepocket.shared_plans(server text, silence interval) returns text language sql stable as $$
	select jsonb_build_object(
		'Stored', (select coalesce(jsonb_object_agg(name, record), '{}') from ninepocket.present_plans),
		'Others', (select coalesce(jsonb_agg(r.plans order by r.incarnation), '[]')
			from ninepocket.server_plans r left join ninepocket.servers s using (incarnation)
			where r.incarnation <> server and s.forgotten_at is null and r.reported_at > now() - silence))::text $$;

-- What fleet check says of plans, a row a problem. A report of before the last start is that of another version.
create or replace function ninepocket.plan_problems(silence interval) returns setof text language sql stable as $$
	with live as (
		select s.incarnation || ' at ' || s.host as server, s.version, p.plans
		from ninepocket.servers s left join ninepocket.server_plans p
			on p.incarnation = s.incarnation and p.reported_at > now() - silence and p.reported_at >= s.started_at
		where s.forgotten_at is null and s.seen_at > now() - silence)
	select 'server ' || server || ' of version ' || version || ' does not report its plans and takes them from its file '
		|| 'alone: upgrade it, and change no plan until then'
	from live where plans is null
	union all
	select 'servers have different limits of plan ' || names.name || ', and the lower ones hold: ' || string_agg(
			server || ' has ' || coalesce(plans -> names.name ->> 'per_minute', 'none') || ' a minute', ', ' order by server)
		|| '; run: ninepocket plans import --config FILE, or give all servers the same file'
	from live, (select distinct jsonb_object_keys(plans) as name from live) names
	where plans is not null group by names.name
	having count(distinct coalesce(plans -> names.name, 'null')) > 1
	union all
	select 'plans of keys that are not in the database, so that servers take them from their files: '
		|| string_agg(distinct plan, ', ') || '; run: ninepocket plans import --config FILE'
	from (select coalesce(t.record -> 'plans' ->> (k.record ->> 'surface'), t.record ->> 'plan') as plan
			from ninepocket.keys k join ninepocket.tenants t on t.name = k.tenant
			where k.record ->> 'surface' <> 'sandbox' and k.record ->> 'revoked_at' is null
				and coalesce((k.record ->> 'expires_at')::timestamptz, 'infinity') > now()) used
	where plan not in (select name from ninepocket.present_plans) having count(*) > 0 $$;

create or replace view ninepocket.usage as
	select tenant, key, day, op, sum(calls)::bigint as calls, sum(charged)::bigint as charged
	from ninepocket.ledger group by tenant, key, day, op;
