import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** Connects as DBeaver does, lists the tables, then prints how many rows each statement of the arguments has, or why it was refused. */
public class Ask {
  public static void main(String[] arguments) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("user", arguments[1]);
    properties.setProperty("password", arguments[2]);
    try (Connection connection = DriverManager.getConnection(arguments[0], properties)) {
      try (ResultSet tables = connection.getMetaData().getTables(null, null, "market_%", null)) {
        while (tables.next()) System.out.println("table " + tables.getString("TABLE_NAME"));
      }
      for (int index = 3; index < arguments.length; index++) {
        try (Statement statement = connection.createStatement(); ResultSet answer = statement.executeQuery(arguments[index])) {
          int rows = 0;
          while (answer.next()) {
            answer.getObject(1);
            rows++;
          }
          System.out.println("rows " + rows);
        } catch (SQLException refused) {
          System.out.println("refused " + refused.getMessage().replace('\n', ' '));
        }
      }
    }
  }
}
