/** Whether the servers of a run come in containers: `npm run test:containers` says so. */
export const inContainers: boolean = process.env['SERVERS'] === 'containers'
