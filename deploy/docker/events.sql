-- Run by PostgreSQL once, when its volume is empty.
create table events (id text primary key, kind text not null, received timestamptz not null default now());
