#pragma once

#include <QNetworkAccessManager>
#include <QQmlNetworkAccessManagerFactory>

namespace waste::app {

// The window never asks the network for anything, whatever a model writes into a transcript. Given to the
// QML engine, this refuses every request.
class NoNetwork : public QQmlNetworkAccessManagerFactory {
public:
    QNetworkAccessManager* create(QObject* parent) override;
};

} // namespace waste::app
