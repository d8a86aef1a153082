//! Calls that manage users.

use api::operations;
use api::{LoggedIn, NewToken, NewUser, UserChange, UserPage, UserView};

use crate::arguments::Arguments;
use crate::client::Client;
use crate::error::ClientError;

impl Client {
    /// Returns a page of users in order of name, beginning after `after`.
    pub async fn users(&self, after: Option<&str>, limit: u32) -> Result<UserPage, ClientError> {
        let arguments = Arguments::none().page(after, limit);
        self.ask(&operations::USERS, arguments).await
    }

    /// Returns a user.
    pub async fn user(&self, name: &str) -> Result<UserView, ClientError> {
        self.ask(&operations::USER, Arguments::at(&[name])).await
    }

    /// Adds a user.
    pub async fn add_user(&self, user: &NewUser) -> Result<UserView, ClientError> {
        let arguments = Arguments::none().json(user)?;
        self.ask(&operations::ADD_USER, arguments).await
    }

    /// Changes a user.
    pub async fn change_user(
        &self,
        name: &str,
        change: &UserChange,
    ) -> Result<UserView, ClientError> {
        let arguments = Arguments::at(&[name]).json(change)?;
        self.ask(&operations::CHANGE_USER, arguments).await
    }

    /// Removes a user.
    pub async fn remove_user(&self, name: &str) -> Result<(), ClientError> {
        let arguments = Arguments::at(&[name]);
        let done = self.ask_raw(&operations::REMOVE_USER, arguments).await;
        done.map(drop)
    }

    /// Creates a long-lived token for a user.
    pub async fn add_token(&self, name: &str, days: u32) -> Result<LoggedIn, ClientError> {
        let arguments = Arguments::at(&[name]).json(&NewToken { days })?;
        self.ask(&operations::ADD_TOKEN, arguments).await
    }

    /// Ends all tokens and logins of a user.
    pub async fn revoke_tokens(&self, name: &str) -> Result<UserView, ClientError> {
        let arguments = Arguments::at(&[name]);
        self.ask(&operations::REVOKE_TOKENS, arguments).await
    }
}
