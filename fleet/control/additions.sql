-- What later versions added. Earlier ones work beside it, and every statement may run again. A server's reports come
-- first: whoever reports or changes keys takes these locks in the same order.
alter table ninepocket.servers add column if not exists reports bigint not null default 0; -- grows with each report
alter table ninepocket.servers add column if not exists restored_at timestamptz; -- when reports was found lower last
alter table ninepocket.servers add column if not exists restored_rows bigint not null default 0; -- and rows lacking then

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
