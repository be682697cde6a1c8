#pragma once
/// Lets you own what ORT's C API hands out.
///
///   Handle<OrtSession> session = take(raw_session, api.ReleaseSession);
#include <memory>

namespace graft::runtime {

template <class T> struct Release {
  void (*release)(T*) = nullptr;
  void operator()(T* object) const { release(object); }
};

template <class T> using Handle = std::unique_ptr<T, Release<T>>;

/// Takes ownership of `object`, to be freed by one of OrtApi's Release functions.
template <class T> Handle<T> take(T* object, void (*release)(T*)) {
  return Handle<T>(object, Release<T>{release});
}

}  // namespace graft::runtime
