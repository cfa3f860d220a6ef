-- What later versions added. Earlier ones work beside it, and every statement may run again. A server's reports come
-- first: whoever reports or changes keys takes these locks in the same order.
alter table ninepocket.servers add column if not exists reports bigint not null default 0; -- grows with each report
alter table ninepocket.servers add column if not exists restored_at timestamptz; -- when reports was found lower last
alter table ninepocket.servers add column if not exists restored_rows bigint not null default 0; -- lacking then

-- keys_version is of the keys that a server has, clock_ms its clock, less this one's; null = it is older and says none.
alter table ninepocket.servers add column if not exists keys_version bigint;
alter table ninepocket.servers add column if not exists clock_ms bigint;

-- The lineage of each version of the keys. Two databases that went apart have the same versions with other lineages. A
-- trigger enters it, so that changes by earlier versions of the program have one too.
create table if not exists ninepocket.lineage (
	version     bigint primary key,
	id          uuid not null default gen_random_uuid()
);
insert into ninepocket.lineage (version) select version from ninepocket.control on conflict do nothing;
create or replace function ninepocket.enter_lineage() returns trigger
language plpgsql security definer set search_path = '' as $$ begin
	insert into ninepocket.lineage (version) values (new.version)
	on conflict (version) do update set id = gen_random_uuid();
	return null;
end $$;
create or replace trigger lineage after update of version on ninepocket.control
	for each row execute function ninepocket.enter_lineage();

-- Revokes keys again that a restored database has as not revoked, and returns the ids of those that were. A server
-- that may not change keys may call it: all it can do is end them.
create or replace function ninepocket.revoke_again(server text, ids text[], times text[]) returns setof text
language sql security definer set search_path = '' as $$
	with change as (
		update ninepocket.control set version = version + 1 returning version),
	again as (
		update ninepocket.keys k
		set record = k.record - 'suspended_at' || jsonb_build_object('revoked_at', x.at), version = change.version
		from change, unnest(ids, times) as x (id, at)
		where k.id = x.id
			and (k.record->>'revoked_at' is null or k.record->>'revoked_at' = k.record->>'suspended_at')
			and (k.record->>'revived_at' is null
				or (k.record->>'revived_at')::timestamptz < x.at::timestamptz)
		returning k.id, k.tenant),
	entered as (
		insert into ninepocket.key_log (entry) select jsonb_build_object('at', now(), 'by', 'server ' || server,
			'command', 'revoke-again', 'tenant', tenant, 'key', id, 'reason', 'the database was an older copy')
		from again)
	select id from again
$$;

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

-- The limits that each server would give by the database and its own file.
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
		|| 'alone: upgrade it, and change no plan until then; run: ninepocket fleet status --json'
	from live where plans is null
	union all
	select 'servers have different limits of plan ' || names.name || ', and the lower ones hold: ' || string_agg(
			server || ' has ' || coalesce(plans -> names.name ->> 'per_minute', 'none') || ' a minute', ', ' order by server)
		|| '; one file for all would do, too; run: ninepocket plans import --config FILE'
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
