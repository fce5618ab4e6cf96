// Batches in JSON: which ones are tables, their numbers, and truncated texts.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "check.hpp"
#include "driftline/serve/json_table.hpp"

namespace {

using driftline::JsonTable;

// Reads a text in a buffer of its exact size, so that a sanitizer notices reads beyond its end.
bool is_table(const std::string& text) {
    const auto bytes = std::make_unique<char[]>(text.size());
    std::memcpy(bytes.get(), text.data(), text.size());
    JsonTable table;
    return table.read({bytes.get(), text.size()});
}

std::string batch(const std::string& rows) { return "{\"rows\": [" + rows + "]}"; }

void a_table_is_read() {
    const std::string text =
        batch("{\"x\": {\"a\": 1, \"b\\\"\": -2.5e-3}, \"y\": 0.1} , {\"y\":7,\"x\":{\"a\":-0,\"b\\\"\":-0.0}}");
    JsonTable table;
    CHECK(table.read(text));
    CHECK(table.first == "{\"x\": {\"a\": 1, \"b\\\"\": -2.5e-3}, \"y\": 0.1}");
    CHECK(table.width == 2);
    CHECK((table.x == std::vector<double>{1, -2.5e-3, 0, 0}));
    CHECK(!std::signbit(table.x[2]) && std::signbit(table.x[3]));
    CHECK((table.y == std::vector<double>{0.1, 7}));
    CHECK(table.ids.empty());
}

void ids_are_in_all_rows_or_in_none() {
    const std::string one = "{\"id\": \"r 1\", \"x\": [1], \"y\": 2}", two = "{\"x\": [1], \"y\": 2, \"id\":\"\"}";
    const std::string text = batch(one + "," + two);
    JsonTable table;
    CHECK(table.read(text));
    CHECK((table.ids == std::vector<std::string_view>{"r 1", ""}));
    CHECK(!is_table(batch(one + ", {\"x\": [1], \"y\": 2}")));
    CHECK(!is_table(batch("{\"id\": \"a\\n\", \"x\": [1], \"y\": 2}")));
    CHECK(!is_table(batch("{\"id\": \"\xc3\xa9\", \"x\": [1], \"y\": 2}")));
    CHECK(!is_table(batch("{\"id\": \"a\", \"id\": \"a\", \"x\": [1], \"y\": 2}")));
    for (std::size_t size = 0; size < text.size(); ++size)
        CHECK(!is_table(text.substr(0, size)));
}

void a_text_may_end_anywhere() {
    const std::string text = batch("{\"x\": {\"a\\\\\": 1.5}, \"y\": -2E+1}, {\"x\": {\"a\\\\\": 12}, \"y\": 0}");
    CHECK(is_table(text));
    CHECK(is_table(" \n" + text + "\t\r"));
    for (std::size_t size = 0; size < text.size(); ++size)
        CHECK(!is_table(text.substr(0, size)));
    CHECK(!is_table(text + "}"));
}

void other_batches_are_not_tables() {
    for (const char* number : {"01",  "+1",  ".5",       "1.",    "1e",    "1e+",  "-",    "",    "0x1", "inf",
                               "nan", "NaN", "Infinity", "1e400", "\"1\"", "null", "true", "[1]", "1_0", "--1"}) {
        CHECK(!is_table(batch(std::string("{\"x\": [1, ") + number + "], \"y\": 1}")));
        CHECK(!is_table(batch(std::string("{\"x\": [1], \"y\": ") + number + "}")));
    }
    const std::string first = "{\"x\": {\"a\": 1, \"b\": 2}, \"y\": 1}, ";
    for (const char* row : {"{\"x\": {\"b\": 1, \"a\": 2}, \"y\": 1}", "{\"x\": {\"a\": 1}, \"y\": 1}", "{\"y\": 1}",
                            "{\"x\": {\"a\": 1, \"b\": 2, \"c\": 3}, \"y\": 1}", "{\"x\": [1, 2], \"y\": 1}", "{}", "[]", "",
                            "{\"x\": {\"a\": 1, \"b\": 2}}", "{\"x\": {\"a\": 1, \"b\": 2}, \"y\": 1, \"y\": 1}",
                            "{\"x\": {\"a\": 1, \"b\": 2}, \"y\": 1, \"id\": \"i\"}", "{\"x\": {}, \"y\": 1}"})
        CHECK(!is_table(batch(first + row)));
    CHECK(is_table(batch(first + "{\"x\": {\"a\": 1, \"b\": 2}, \"y\": 1}")));
    CHECK(!is_table("{\"rows\": []}"));
    CHECK(!is_table("{\"rows\": [{\"x\": [1], \"y\": 1}], \"rows\": []}"));
}

} // namespace

int main() {
    a_table_is_read();
    ids_are_in_all_rows_or_in_none();
    a_text_may_end_anywhere();
    other_batches_are_not_tables();
    return checks::result();
}
