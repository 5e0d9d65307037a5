/** The npm package `tablestore`, which has no types, as far as the examples use it. */

declare module "tablestore" {
  /** A client. */
  interface Client {
    listTable(parameters: object): Promise<{ readonly tableNames: readonly string[] }>;
  }

  const TableStore: {
    readonly HttpClient: { prototype: object };
    readonly Client: new (options: {
      readonly endpoint: string;
      readonly instancename: string;
      readonly accessKeyId: string;
      readonly secretAccessKey: string;
    }) => Client;
  };
  export default TableStore;
}
