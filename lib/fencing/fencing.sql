-- SPDX-License-Identifier: Apache-2.0
-- zkrecipes: fencing in PostgreSQL 14 or later. Version 1. It may run again: floors and grants
-- stay. The user who runs it owns the floors. Run it in one transaction: psql -1 -f fencing.sql
-- After an upgrade, guard each table again: triggers of an earlier version may refuse all writes.
-- An earlier version does not run over this one: it fails, and changes nothing.
--
-- For writers, inside a transaction (errors ZKR01: the pass is stale; ZKR02: none was shown):
--   SELECT zkrecipes.show_pass(resource, epoch, token, reader);  -- of a pass with turns: ..., turn
--   SELECT zkrecipes.begin_operation(resource, operation);  -- false: it has been committed before
-- For operators, and for a holder whose show_pass does not come through:
--   SELECT zkrecipes.guard('accounts', 'ledger');
--   SELECT zkrecipes.end_holder(resource, epoch, token, reader);  -- ..., turn
--
-- Two marks say which pass a transaction has shown, and both end with it: its number in the floor's
-- row, and in a setting. The row's alone would come back with a dump that is loaded into another
-- cluster, whose transactions count anew; the setting's alone is every user's to set. After
-- ROLLBACK TO SAVEPOINT both are gone as well, together with the lock on the row that keeps later
-- holders waiting.
--
-- No function finds a name by the caller's search_path: with an operator of their own, callers
-- could make any comparison true.
SELECT pg_catalog.pg_advisory_xact_lock(8101101191);
CREATE SCHEMA IF NOT EXISTS zkrecipes;

-- A schema that a stranger has made first stays that stranger's, and so would the floors.
DO $zkr$
DECLARE
  path pg_catalog.text := pg_catalog.current_setting('search_path');
BEGIN
  PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  IF EXISTS (SELECT FROM pg_namespace AS n JOIN pg_roles AS r ON r.oid = n.nspowner
             WHERE n.nspname = 'zkrecipes' AND r.rolname <> current_user AND NOT r.rolsuper)
  THEN
    RAISE EXCEPTION 'the schema zkrecipes is owned by another user' USING ERRCODE = '42501';
  END IF;
  -- A row a resource, some 100 bytes, and it stays. A deleted floor admits every older pass, so
  -- delete one only while no process runs that was ever granted the resource's lock or given a pass
  -- of it (zkr's CMD, a worker), shown or not, with nothing of theirs on its way (connections,
  -- poolers, queues); never that of a resource that guard has named.
  CREATE TABLE IF NOT EXISTS zkrecipes.floors (
    resource text PRIMARY KEY,
    epoch bigint NOT NULL,
    exclusive bigint NOT NULL,
    shared bigint NOT NULL,
    shown_in xid8 NOT NULL,
    operation text,
    turn bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50);
  -- Only of an earlier commit's table: its lock waits for every holder, and all others for it.
  IF NOT EXISTS (SELECT FROM pg_attribute
                 WHERE attrelid = 'zkrecipes.floors'::regclass AND attname = 'operation')
  THEN
    ALTER TABLE zkrecipes.floors ADD COLUMN operation text;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_attribute
                 WHERE attrelid = 'zkrecipes.floors'::regclass AND attname = 'turn')
  THEN
    ALTER TABLE zkrecipes.floors ADD COLUMN turn bigint NOT NULL DEFAULT 0;
  END IF;
  PERFORM set_config('search_path', path, true);
END $zkr$;
GRANT USAGE ON SCHEMA zkrecipes TO PUBLIC;

CREATE OR REPLACE FUNCTION zkrecipes.refuse_stale(
  resource text, epoch bigint, token bigint, reader boolean, turn bigint DEFAULT 0)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $zkr$
#variable_conflict use_variable
DECLARE
  seen zkrecipes.floors;
BEGIN
  SELECT * INTO seen FROM zkrecipes.floors AS floor WHERE floor.resource = refuse_stale.resource;
  IF epoch < seen.epoch THEN
    RAISE EXCEPTION 'stale: the token % is of epoch %, and epoch % has begun',
      token, epoch, seen.epoch USING ERRCODE = 'ZKR01';
  ELSIF epoch = seen.epoch
    AND token < greatest(seen.exclusive, CASE WHEN reader THEN 0 ELSE seen.shared END)
  THEN
    RAISE EXCEPTION 'stale: the token % is older than %, which % has been shown', token,
      greatest(seen.exclusive, CASE WHEN reader THEN 0 ELSE seen.shared END), resource
      USING ERRCODE = 'ZKR01';
  ELSIF epoch = seen.epoch AND NOT reader AND token = seen.exclusive AND turn < seen.turn THEN
    RAISE EXCEPTION 'stale: turn % of the token % is over: % has been shown turn %',
      turn, token, resource, seen.turn USING ERRCODE = 'ZKR01';
  END IF;
END $zkr$;

CREATE OR REPLACE FUNCTION zkrecipes.show_pass(
  resource text, epoch bigint, token bigint, reader boolean, turn bigint DEFAULT 0)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $zkr$
#variable_conflict use_column
BEGIN
  IF show_pass.resource IS NULL OR
    (show_pass.epoch >= 0 AND token > 0 AND reader IS NOT NULL AND show_pass.turn >= 0
     AND (show_pass.turn = 0 OR NOT reader)) IS NOT TRUE
  THEN
    RAISE EXCEPTION 'a pass has a resource, an epoch, a positive token and a mode; no reader has a turn'
      USING ERRCODE = '22023';
  END IF;
  INSERT INTO zkrecipes.floors AS floor (resource, epoch, exclusive, shared, shown_in, turn) VALUES (
    show_pass.resource, show_pass.epoch, CASE WHEN reader THEN 0 ELSE token END,
    CASE WHEN reader THEN token ELSE 0 END, pg_current_xact_id(), show_pass.turn)
  ON CONFLICT (resource) DO UPDATE SET
    epoch = EXCLUDED.epoch,
    exclusive = CASE WHEN floor.epoch = EXCLUDED.epoch
                     THEN greatest(floor.exclusive, EXCLUDED.exclusive) ELSE EXCLUDED.exclusive END,
    shared = CASE WHEN floor.epoch = EXCLUDED.epoch
                  THEN greatest(floor.shared, EXCLUDED.shared) ELSE EXCLUDED.shared END,
    shown_in = EXCLUDED.shown_in,
    turn = CASE WHEN reader AND floor.epoch = EXCLUDED.epoch THEN floor.turn ELSE EXCLUDED.turn END
  WHERE floor.epoch < EXCLUDED.epoch
    OR (floor.epoch = EXCLUDED.epoch AND floor.exclusive <= token
        AND (reader OR (floor.shared <= token
                        AND (floor.exclusive < token OR floor.turn <= EXCLUDED.turn))));
  IF NOT FOUND THEN
    PERFORM zkrecipes.refuse_stale(
      show_pass.resource, show_pass.epoch, token, reader, show_pass.turn);
    RAISE EXCEPTION 'the floor of % changed meanwhile', show_pass.resource USING ERRCODE = '40001';
  END IF;
  PERFORM set_config('zkrecipes.shown_in', pg_current_xact_id()::text, true);
END $zkr$;

CREATE OR REPLACE FUNCTION zkrecipes.demand_pass(resource text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $zkr$
BEGIN
  IF current_setting('zkrecipes.shown_in', true) = pg_current_xact_id_if_assigned()::text
    AND EXISTS (SELECT FROM zkrecipes.floors AS floor
                WHERE floor.resource = demand_pass.resource
                  AND floor.shown_in = pg_current_xact_id_if_assigned())
  THEN
    RETURN;
  END IF;
  RAISE EXCEPTION 'no pass for % was shown in this transaction',
    coalesce(demand_pass.resource, 'a row without a key')
    USING ERRCODE = 'ZKR02', HINT = 'SELECT zkrecipes.show_pass(resource, epoch, token, reader)';
END $zkr$;

-- Under the lock on the floor's row, so an earlier try of the operation has ended, either way.
CREATE OR REPLACE FUNCTION zkrecipes.begin_operation(resource text, operation text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $zkr$
BEGIN
  IF coalesce(begin_operation.operation, '') = '' THEN
    RAISE EXCEPTION 'an operation has a name' USING ERRCODE = '22023';
  END IF;
  PERFORM zkrecipes.demand_pass(begin_operation.resource);
  UPDATE zkrecipes.floors AS floor SET operation = begin_operation.operation
    WHERE floor.resource = begin_operation.resource
      AND floor.operation IS DISTINCT FROM begin_operation.operation;
  RETURN FOUND;
END $zkr$;

-- The transaction that has changed the floor's row, and not ended, is the row's xmax; it holds the
-- lock of its own number. One that is prepared (two-phase) has no backend.
CREATE OR REPLACE FUNCTION zkrecipes.end_holder(
  resource text, epoch bigint, token bigint, reader boolean, turn bigint DEFAULT 0) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $zkr$
BEGIN
  PERFORM zkrecipes.refuse_stale(
    end_holder.resource, end_holder.epoch, end_holder.token, end_holder.reader, end_holder.turn);
  RETURN (SELECT count(*) FILTER (WHERE pg_terminate_backend(lock.pid, 5000))
          FROM zkrecipes.floors AS floor JOIN pg_locks AS lock ON lock.transactionid = floor.xmax
          WHERE floor.resource = end_holder.resource AND lock.locktype = 'transactionid'
            AND lock.granted AND lock.mode = 'ExclusiveLock' AND lock.pid <> pg_backend_pid());
END $zkr$;
REVOKE EXECUTE ON FUNCTION
  zkrecipes.end_holder(text, bigint, bigint, boolean, bigint) FROM PUBLIC;

-- The functions of an earlier commit, without turns: who may call one may call what takes its
-- place.
DO $zkr$
DECLARE
  path pg_catalog.text := pg_catalog.current_setting('search_path');
  old record;
  allowed record;
BEGIN
  PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
  FOR old IN SELECT p.oid::regprocedure AS name, p.proacl,
               format('zkrecipes.%I(text, bigint, bigint, boolean, bigint)', p.proname) AS new
             FROM pg_proc AS p WHERE p.pronamespace = 'zkrecipes'::regnamespace AND p.pronargs = 4
               AND p.proname IN ('refuse_stale', 'show_pass', 'end_holder')
  LOOP
    IF old.proacl IS NOT NULL THEN
      EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', old.new);
    END IF;
    FOR allowed IN SELECT acl.grantee, acl.is_grantable FROM aclexplode(old.proacl) AS acl LOOP
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s %s', old.new,
        CASE WHEN allowed.grantee = 0 THEN 'PUBLIC' ELSE allowed.grantee::regrole::text END,
        CASE WHEN allowed.is_grantable THEN 'WITH GRANT OPTION' ELSE '' END);
    END LOOP;
    EXECUTE format('DROP FUNCTION %s', old.name);
  END LOOP;
  PERFORM set_config('search_path', path, true);
END $zkr$;

-- With a key column, after the statement: other triggers may have changed a row's key before. Only
-- the key is read, since the row may be large. Its text must be one in all sessions: by another
-- name the row would have another floor, which admits a stale pass.
CREATE OR REPLACE FUNCTION zkrecipes.refuse_unshown() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET TimeZone = 'UTC' SET DateStyle = 'ISO'
SET IntervalStyle = 'postgres' SET bytea_output = 'hex' SET extra_float_digits = 1
SET lc_monetary = 'C' AS $zkr$
DECLARE
  rows text := CASE TG_OP WHEN 'INSERT' THEN 'zkr_new' WHEN 'DELETE' THEN 'zkr_old' ELSE
    '(SELECT %1$I FROM zkr_old UNION ALL SELECT %1$I FROM zkr_new)' END;
  key text;
BEGIN
  IF TG_NARGS = 1 THEN
    PERFORM zkrecipes.demand_pass(TG_ARGV[0]);
    RETURN NULL;
  END IF;
  FOR key IN EXECUTE
    format('SELECT DISTINCT to_jsonb(%1$I) #>> ''{}'' FROM ' || rows || ' AS touched', TG_ARGV[1])
  LOOP
    PERFORM zkrecipes.demand_pass(TG_ARGV[0] || key);
  END LOOP;
  RETURN NULL;
END $zkr$;

-- The table and all of its partitions and children, since each of them can be written by its own
-- name, too, which is guarded then. A table that can also be written by the name of one outside is
-- refused.
CREATE OR REPLACE FUNCTION
zkrecipes.guard(target regclass, resource text, key_column text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $zkr$
DECLARE
  tree regclass[] := ARRAY(
    WITH RECURSIVE part AS (
      SELECT target::oid AS relid
      UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN part ON i.inhparent = part.relid)
    SELECT part.relid::regclass FROM part);
  above record;
  part regclass;
  old name;
BEGIN
  SELECT inhrelid::regclass AS part, inhparent::regclass AS parent INTO above FROM pg_inherits
    WHERE inhrelid = ANY (tree) AND inhparent <> ALL (tree);
  IF FOUND THEN
    RAISE EXCEPTION '% can also be written as a part of %: guard that', above.part, above.parent
      USING ERRCODE = '22023';
  END IF;
  IF key_column IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_attribute
    WHERE attrelid = target AND attname = key_column AND attnum > 0 AND NOT attisdropped)
  THEN
    RAISE EXCEPTION '% has no column %', target, key_column USING ERRCODE = '42703';
  END IF;
  FOREACH part IN ARRAY tree LOOP
    FOR old IN SELECT tgname FROM pg_trigger
      WHERE tgrelid = part AND tgfoid = 'zkrecipes.refuse_unshown'::regproc AND NOT tgisinternal
    LOOP
      EXECUTE format('DROP TRIGGER %I ON %s', old, part);
    END LOOP;
    IF key_column IS NULL THEN
      EXECUTE format('CREATE TRIGGER zkrecipes_fence BEFORE INSERT OR UPDATE OR DELETE ON %s '
        'EXECUTE FUNCTION zkrecipes.refuse_unshown(%L)', part, resource);
    ELSE
      -- A trigger that reads the rows is of one kind of statement.
      EXECUTE format('CREATE TRIGGER zkrecipes_fence AFTER INSERT ON %s REFERENCING NEW TABLE '
        'AS zkr_new EXECUTE FUNCTION zkrecipes.refuse_unshown(%L, %L)', part, resource, key_column);
      EXECUTE format('CREATE TRIGGER zkrecipes_fence_update AFTER UPDATE ON %s REFERENCING '
        'OLD TABLE AS zkr_old NEW TABLE AS zkr_new EXECUTE FUNCTION '
        'zkrecipes.refuse_unshown(%L, %L)', part, resource, key_column);
      EXECUTE format('CREATE TRIGGER zkrecipes_fence_delete AFTER DELETE ON %s REFERENCING '
        'OLD TABLE AS zkr_old EXECUTE FUNCTION zkrecipes.refuse_unshown(%L, %L)',
        part, resource, key_column);
    END IF;
    EXECUTE format('CREATE TRIGGER zkrecipes_fence_truncate BEFORE TRUNCATE ON %s '
      'EXECUTE FUNCTION zkrecipes.refuse_unshown(%L)', part, resource);
  END LOOP;
  -- So that end_holder finds the first transaction, too. Another owner's tables do without.
  BEGIN
    INSERT INTO zkrecipes.floors VALUES (resource, 0, 0, 0, '0') ON CONFLICT DO NOTHING;
  EXCEPTION WHEN insufficient_privilege THEN
  END;
END $zkr$;
