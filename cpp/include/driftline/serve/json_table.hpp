// Reads a batch of labelled rows in JSON as a table, if it is one.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace driftline {

// Reads {"rows": [{"id": "r1", "x": {"a": 1.5, ...}, "y": 2}, ...]}: fields in any order, x an object or an array, the same
// names in the same order in all rows, and ids in all rows or in none. Anything else is left to a complete parser, and so is
// the first row: the names of the others are compared with its names byte by byte, so that they are sound if it is. Ids are
// in printable ASCII, without a backslash.
class JsonTable {
  public:
    std::string_view first; // the first row
    std::vector<std::string_view> ids;
    std::vector<double> x, y;
    std::size_t width = 0;

    // Returns whether the text is such a table. Numbers are rounded as in Python; a number that cannot be makes it false.
    bool read(std::string_view text) {
        at = text.data(), end = at + text.size();
        if (!take('{') || !take("\"rows\"") || !take(':') || !take('['))
            return false;
        do
            if (!read_row())
                return false;
        while (take(','));
        return take(']') && take('}') && peek() == end && (ids.empty() || ids.size() == y.size());
    }

  private:
    const char *at = nullptr, *end = nullptr;
    bool named = false;
    std::vector<std::string_view> names; // with their quotes

    bool read_row() {
        const char* start = peek();
        if (!take('{'))
            return false;
        bool has_x = false, has_y = false, has_id = false;
        do
            if (!has_x && take("\"x\""))
                has_x = take(':') && read_features();
            else if (!has_y && take("\"y\""))
                has_y = take(':') && read_number(y);
            else if (!has_id && take("\"id\""))
                has_id = take(':') && read_id();
            else
                return false;
        while (take(','));
        if (!has_x || !has_y || !take('}'))
            return false;
        if (first.empty())
            first = {start, static_cast<std::size_t>(at - start)};
        return true;
    }

    bool read_id() {
        if (!take('"'))
            return false;
        const char* start = at;
        while (at < end && *at >= ' ' && *at <= '~' && *at != '"' && *at != '\\')
            ++at;
        ids.emplace_back(start, static_cast<std::size_t>(at - start));
        return skip('"');
    }

    bool read_features() {
        const bool object = take('{');
        if (!object && !take('['))
            return false;
        if (first.empty())
            named = object;
        std::size_t count = 0;
        do {
            if (object && (!read_name(count) || !take(':')))
                return false;
            if (!read_number(x))
                return false;
            ++count;
        } while (take(','));
        if (first.empty())
            width = count;
        return object == named && count == width && take(object ? '}' : ']');
    }

    bool read_name(std::size_t number) {
        if (!first.empty())
            return number < names.size() && take(names[number]);
        const char* start = peek();
        if (!take('"'))
            return false;
        while (at < end && *at != '"')
            at += *at == '\\' && end - at > 1 ? 2 : 1;
        if (at == end)
            return false;
        names.emplace_back(start, static_cast<std::size_t>(++at - start));
        return true;
    }

    bool read_number(std::vector<double>& to) {
        const char* start = peek();
        skip('-');
        if (!skip('0') && !skip_digits())
            return false;
        bool whole = true;
        if (skip('.')) {
            whole = false;
            if (!skip_digits())
                return false;
        }
        if (skip('e') || skip('E')) {
            whole = false;
            skip('+') || skip('-');
            if (!skip_digits())
                return false;
        }
        if (at == end)
            return false; // a table does not end with a number
        double value;
#ifdef __cpp_lib_to_chars
        if (std::from_chars(start, at, value).ec != std::errc())
            return false;
#else
        value = std::strtod(start, nullptr);
        if (!std::isfinite(value))
            return false;
#endif
        to.push_back(whole ? value + 0.0 : value); // -0 is an integer, whose zero has no sign
        return true;
    }

    const char* peek() {
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
            ++at;
        return at;
    }
    bool skip(char expected) {
        const bool there = at < end && *at == expected;
        at += there;
        return there;
    }
    bool skip_digits() {
        const char* start = at;
        while (at < end && *at >= '0' && *at <= '9')
            ++at;
        return at > start;
    }
    bool take(char expected) {
        peek();
        return skip(expected);
    }
    bool take(std::string_view expected) {
        peek();
        const bool there =
            static_cast<std::size_t>(end - at) >= expected.size() && std::memcmp(at, expected.data(), expected.size()) == 0;
        at += there ? expected.size() : 0;
        return there;
    }
};

} // namespace driftline
