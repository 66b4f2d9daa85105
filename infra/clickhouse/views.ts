/** The rights of the embedded views: who reads a view needs none on the tables under it. A server's operator grants both, as with any view. */
import type { ClickHouseClient } from '@clickhouse/client'
import { ask } from '../../aggregator/store/store.ts'
import { VIEWS_USER } from './engine/engine-users.ts'

/** Repeatable. Views that are created again, as by a migration or a restore, lose the definer. */
export async function setDefiner(owner: ClickHouseClient): Promise<void> {
  const query = `SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View'
    AND NOT has(splitByWhitespace(create_table_query), 'DEFINER')`
  for (const { name } of await ask<{ name: string }>(owner, query))
    await owner.command({ query: `ALTER TABLE ${name} MODIFY SQL SECURITY DEFINER DEFINER = ${VIEWS_USER}` })
}
