/** A process that migrates: `tsx migrate-process.ts <connection as JSON> <directory>` prints what it applied. */
import { connect } from '../../../infra/clickhouse/client/client.ts'
import { migrate } from '../../../infra/clickhouse/migrate.ts'

const [connection = '', directory = ''] = process.argv.slice(2)
const { url, username, password, database } = JSON.parse(connection)
const client = connect({ url, username, password, database })
console.log(JSON.stringify(await migrate(client, { database, directory })))
await client.close()
