-- Two roles of PostgreSQL: np_admin for commands, which owns the tables, and np_servers for servers, which cannot make
-- keys. A superuser runs this in the database of the fleet: before the first command, which makes the tables, after it,
-- and after each upgrade. It takes over tables that another role made.
--
--   psql -d cards -v admin_password=… -v servers_password=… -f roles.sql
--
-- Without these variables passwords stay as they are.
\set ON_ERROR_STOP on
select 'create role ' || name || ' login' from (values ('np_admin'), ('np_servers')) as wanted (name)
	where not exists (select from pg_roles where rolname = name) \gexec
\if :{?admin_password}
alter role np_admin password :'admin_password';
\endif
\if :{?servers_password}
alter role np_servers password :'servers_password';
\endif

grant create on database :"DBNAME" to np_admin;
create schema if not exists ninepocket;
-- Whoever owned the tables goes on with them: servers that still log in so are cut off by nothing. When none does any
-- more: revoke np_admin from THAT_ROLE.
select format('grant np_admin to %I', rolname) from pg_roles where rolname <> 'np_admin' and not rolsuper
	and not pg_has_role('np_admin', oid, 'member') and oid in (select relowner from pg_class where relnamespace = 'ninepocket'::regnamespace) \gexec
alter schema ninepocket owner to np_admin;
select format('alter table ninepocket.%I owner to np_admin', relname) from pg_class
	where relnamespace = 'ninepocket'::regnamespace and relkind in ('r', 'v') \gexec
-- Some run with the rights of their owner.
select format('alter function %s owner to np_admin', oid::regprocedure) from pg_proc
	where pronamespace = 'ninepocket'::regnamespace \gexec

-- Servers read everything, and write what they report. Tables that servers come to write are added to this list.
grant usage on schema ninepocket to np_servers;
grant select on all tables in schema ninepocket to np_servers;
alter default privileges for role np_admin in schema ninepocket grant select on tables to np_servers;
select format('grant %s on ninepocket.%I to np_servers', rights, name) from (values
	('servers', 'insert, update'),
	('ledger', 'insert, update, delete'),
	('key_uses', 'insert, update'),
	('cursor_keys', 'insert, update, delete'),
	('hooks', 'insert, update'),
	('server_plans', 'insert, update')
) as written (name, rights) where to_regclass('ninepocket.' || name) is not null \gexec
