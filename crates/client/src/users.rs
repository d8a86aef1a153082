//! Calls that manage users.

use api::{LoggedIn, NewToken, NewUser, UserChange, UserPage, UserView, paths};
use hyper::Method;

use crate::client::Client;
use crate::error::ClientError;

impl Client {
    /// Users after a name.
    pub async fn users(&self, after: Option<&str>, limit: u32) -> Result<UserPage, ClientError> {
        self.page(paths::USERS, after, limit).await
    }

    /// A user.
    pub async fn user(&self, name: &str) -> Result<UserView, ClientError> {
        self.get(&paths::with(paths::USER, name)).await
    }

    /// Adds a user.
    pub async fn add_user(&self, user: &NewUser) -> Result<UserView, ClientError> {
        let body = serde_json::to_vec(user).map_err(ClientError::arguments)?;
        self.call(Method::POST, paths::USERS, body, None).await
    }

    /// Changes a user.
    pub async fn change_user(
        &self,
        name: &str,
        change: &UserChange,
    ) -> Result<UserView, ClientError> {
        let body = serde_json::to_vec(change).map_err(ClientError::arguments)?;
        let path = paths::with(paths::USER, name);
        self.call(Method::PATCH, &path, body, None).await
    }

    /// Removes a user.
    pub async fn remove_user(&self, name: &str) -> Result<(), ClientError> {
        let path = paths::with(paths::USER, name);
        self.raw(Method::DELETE, &path, Vec::new(), None)
            .await
            .map(|_| ())
    }

    /// A long-lived token for a user.
    pub async fn add_token(&self, name: &str, days: u32) -> Result<LoggedIn, ClientError> {
        let body = serde_json::to_vec(&NewToken { days }).map_err(ClientError::arguments)?;
        let path = paths::with(paths::USER_TOKENS, name);
        self.call(Method::POST, &path, body, None).await
    }

    /// Ends all tokens and logins of a user.
    pub async fn revoke_tokens(&self, name: &str) -> Result<UserView, ClientError> {
        let path = paths::with(paths::USER_TOKENS, name);
        self.call(Method::DELETE, &path, Vec::new(), None).await
    }
}
