// Feature names that keep appearing: adding one takes constant time.
#pragma once

#include "one_row.hpp"

namespace driftline::bindings {

class GrowingNames {
  public:
    void set(const nb::object& names) {
        index_ = nb::dict();
        append(nb::list(names));
    }
    void append(const nb::list& names) {
        for (nb::handle name : names)
            index_[name] = nb::int_(index_.size());
    }
    nb::object list() const { return nb::none(); }
    bool known() const { return index_.size() > 0; }
    // -1: unknown; -2: a Python error is set.
    Index find(PyObject* name) const {
        PyObject* at = PyDict_GetItemWithError(index_.ptr(), name);
        return at ? PyLong_AsSsize_t(at) : PyErr_Occurred() ? -2 : -1;
    }

    // Calls act(place, number) for the items of a dict whose names are known; false if Python must read an item.
    template <class T, class Act> bool visit(PyObject* dict, bool unknown_allowed, Act&& act) const {
        PyObject *key, *value;
        Py_ssize_t position = 0;
        while (PyDict_Next(dict, &position, &key, &value)) {
            const double number = read_number<T>(value); // first, since a key's own code may change the dict
            const nb::object name = nb::borrow(key);
            const Index j = find(name.ptr());
            PyErr_Clear();
            if (std::isnan(number) || j == -2 || (j < 0 && !unknown_allowed))
                return false;
            if (j >= 0)
                act(j, static_cast<T>(number));
        }
        return true;
    }

  private:
    nb::dict index_;
};

} // namespace driftline::bindings
