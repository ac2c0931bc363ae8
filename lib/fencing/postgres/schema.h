// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_POSTGRES_SCHEMA_H_
#define ZKRECIPES_LIB_FENCING_POSTGRES_SCHEMA_H_

namespace zkrecipes::fencing::postgres {

// Two marks say which pass a transaction has shown, and both end with it: its number in the floor's
// row, and in a setting. The row's alone would come back with a dump that is loaded into another
// cluster, whose transactions count anew; the setting's alone is every user's to set. After
// ROLLBACK TO SAVEPOINT both are gone as well, together with the lock on the row that keeps later
// holders waiting.
//
// Functions that run with their owner's rights must not find names by the caller's search_path.
inline constexpr char kPostgresSchema[] = R"sql(
SELECT pg_advisory_xact_lock(8101101191);
CREATE SCHEMA IF NOT EXISTS zkrecipes;
GRANT USAGE ON SCHEMA zkrecipes TO PUBLIC;
CREATE TABLE IF NOT EXISTS zkrecipes.floors (
  resource text PRIMARY KEY,
  epoch bigint NOT NULL,
  exclusive bigint NOT NULL,
  shared bigint NOT NULL,
  shown_in xid8 NOT NULL
) WITH (fillfactor = 50);

CREATE OR REPLACE FUNCTION
zkrecipes.show_pass(resource text, epoch bigint, token bigint, reader boolean)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $zkr$
#variable_conflict use_column
DECLARE
  seen zkrecipes.floors;
BEGIN
  IF show_pass.resource IS NULL OR
    (show_pass.epoch >= 0 AND show_pass.token > 0 AND reader IS NOT NULL) IS NOT TRUE
  THEN
    RAISE EXCEPTION 'a pass has a resource, an epoch, a positive token and a mode'
      USING ERRCODE = '22023';
  END IF;
  INSERT INTO zkrecipes.floors AS floor VALUES (
    show_pass.resource, show_pass.epoch, CASE WHEN reader THEN 0 ELSE token END,
    CASE WHEN reader THEN token ELSE 0 END, pg_current_xact_id())
  ON CONFLICT (resource) DO UPDATE SET
    epoch = EXCLUDED.epoch,
    exclusive = CASE WHEN floor.epoch = EXCLUDED.epoch
                     THEN greatest(floor.exclusive, EXCLUDED.exclusive) ELSE EXCLUDED.exclusive END,
    shared = CASE WHEN floor.epoch = EXCLUDED.epoch
                  THEN greatest(floor.shared, EXCLUDED.shared) ELSE EXCLUDED.shared END,
    shown_in = EXCLUDED.shown_in
  WHERE floor.epoch < EXCLUDED.epoch
    OR (floor.epoch = EXCLUDED.epoch AND floor.exclusive <= token
        AND (reader OR floor.shared <= token));
  IF NOT FOUND THEN
    SELECT * INTO seen FROM zkrecipes.floors AS floor WHERE floor.resource = show_pass.resource;
    IF show_pass.epoch < seen.epoch THEN
      RAISE EXCEPTION 'stale: the token % is of epoch %, and epoch % has begun',
        token, show_pass.epoch, seen.epoch USING ERRCODE = 'ZKR01';
    END IF;
    RAISE EXCEPTION 'stale: the token % is older than %, which % has been shown', token,
      greatest(seen.exclusive, CASE WHEN reader THEN 0 ELSE seen.shared END), show_pass.resource
      USING ERRCODE = 'ZKR01';
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

CREATE OR REPLACE FUNCTION zkrecipes.refuse_unshown() RETURNS trigger LANGUAGE plpgsql AS $zkr$
BEGIN
  IF TG_LEVEL = 'STATEMENT' THEN
    PERFORM zkrecipes.demand_pass(TG_ARGV[0]);
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    PERFORM zkrecipes.demand_pass(TG_ARGV[0] || (pg_catalog.to_jsonb(OLD) ->> TG_ARGV[1]));
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM zkrecipes.demand_pass(TG_ARGV[0] || (pg_catalog.to_jsonb(NEW) ->> TG_ARGV[1]));
  END IF;
  RETURN NULL;
END $zkr$;

-- Rows are judged after the statement: another trigger may have changed their key before.
CREATE OR REPLACE FUNCTION
zkrecipes.guard(target regclass, resource text, key_column text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $zkr$
BEGIN
  IF key_column IS NULL THEN
    EXECUTE format('CREATE OR REPLACE TRIGGER zkrecipes_fence '
      'BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT '
      'EXECUTE FUNCTION zkrecipes.refuse_unshown(%L)', target, resource);
  ELSE
    PERFORM FROM pg_catalog.pg_attribute
      WHERE attrelid = target AND attname = key_column AND attnum > 0 AND NOT attisdropped;
    IF NOT FOUND THEN
      RAISE EXCEPTION '% has no column %', target, key_column USING ERRCODE = '42703';
    END IF;
    EXECUTE format('CREATE OR REPLACE TRIGGER zkrecipes_fence '
      'AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW '
      'EXECUTE FUNCTION zkrecipes.refuse_unshown(%L, %L)', target, resource, key_column);
  END IF;
  EXECUTE format('CREATE OR REPLACE TRIGGER zkrecipes_fence_truncate BEFORE TRUNCATE ON %s '
    'FOR EACH STATEMENT EXECUTE FUNCTION zkrecipes.refuse_unshown(%L)', target, resource);
END $zkr$;
)sql";

}  // namespace zkrecipes::fencing::postgres

#endif  // ZKRECIPES_LIB_FENCING_POSTGRES_SCHEMA_H_
